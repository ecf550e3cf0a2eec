package jsonx

// One returns the JSON value that data is, without the white space around it, or
// nil when data is anything else than one value.
func One(data []byte) []byte {
	i := Space(data, 0)
	if end, err := Scan(data, i); err == nil && Space(data, end) == len(data) {
		return data[i:end]
	}
	return nil
}

// StringAt returns the string that is a member of an object, "" for anything else.
func StringAt(obj []byte, key string) string {
	s, _ := String(Get(obj, key))
	return s
}

// CountAt returns the number that is a member of an object, 0 for anything else and
// for what is below 0.
func CountAt(obj []byte, key string) int64 {
	n, _ := Int(Get(obj, key))
	return max(n, 0)
}

// Array writes values as a JSON array.
func Array(values [][]byte) []byte {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
