package jsonl

// Impatient makes a File take an unfinished line for one whose writer is dead at
// once, for tests in which there is no other writer.
func Impatient(f *File) { f.patience = 0 }
