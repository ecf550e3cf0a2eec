// Writes javascript.json: how long JavaScript makes JSON texts (JSON.stringify
// of JSON.parse) and bytes, given in hexadecimal (TextDecoder).
//
//   node token/testdata/javascript.mjs > token/testdata/javascript.json
let seed = 20251121;
const next = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0, (seed >>> 8) % n);
const pick = (list) => list[next(list.length)];

const numbers = [
  '0', '-0', '1', '-1', '0.0', '1.0', '1.50', '100', '1e0', '1E5', '1e+2', '1e-2', '12.5e3', '123456789012345', '1234567890123456',
  '9007199254740993', '12345678901234567890', '123456789012345678901', '1234567890123456789012', '1e20', '1e21', '1.5e21', '1e-6',
  '1e-7', '1.25e-7', '0.000001', '0.0000001', '0.1', '0.30000000000000004', '5e-324', '1.7976931348623157e308', '1e400', '-1e400',
  '-0.5e-10', '4.35', '2.50', '-3e10', '1e-400',
];
const strings = [
  '""', '"a"', '"\\n\\t\\r\\b\\f"', '"\\/"', '"/"', '"\\u0041"', '"\\u0000"', '"\\u001f"', '"\\u007f"', '"\\u2028"', '"é"', '"\\u00e9"', '"日本"',
  '"🙂"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00"', '"\\ude00\\ud83d"', '"x\\uD800y"', '"\\ud83d\\ud83d\\ude00"', '"\\\\u0041"', '"\\\\\\u0041"',
  '"\\""', '"\\u0022\\u005c"', '"\\u000a"', '"\\u000b"',
];
const space = () => pick(['', '', '', ' ', '\n', '\t ', '\r\n  ']);
const keys = ['"a"', '"b"', '"\\u0061"', '"1"', '"0"', '""', '"__proto__"', '"日"', '"toJSON"', '"a b"', '"\\n"'];
function value(depth) {
  const k = next(depth > 4 ? 4 : 7);
  if (k === 0) return pick(numbers);
  if (k === 1) return pick(strings);
  if (k === 2) return pick(['true', 'false', 'null']);
  if (k === 3) return pick(['{}', '[]', '{ }', '[ ]']);
  const items = [];
  for (let i = next(5); i >= 0; i--) {
    items.push(space() + (k === 4 ? '' : pick(keys) + space() + ':' + space()) + value(depth + 1) + space());
  }
  return (k === 4 ? '[' : '{') + items.join(',') + (k === 4 ? ']' : '}');
}
const many = '{' + Array.from({ length: 40 }, (_, i) => `"k${i % 25}":${i}`).join(',') + '}';
const texts = [...numbers, ...strings, many, '[' + many + ', ' + many + ']'];
for (let i = 0; i < 150; i++) texts.push(space() + value(0) + space());
const rows = texts.map((text) => JSON.stringify([text, JSON.stringify(JSON.parse(text)).length]));

const parts = ['41', 'c3a9', 'e697a5', 'f09f9982', 'c3', 'e697', 'f09f99', 'f09f', '80', 'bf', 'c0af', 'e08080', 'eda080', 'edbfbf', 'f0808080',
  'f4908080', 'f5', 'ff', 'fe', 'c1', 'f48fbfbf', 'e0a080', 'ed9fbf', 'f8888080', 'e0', 'f1', 'f180', 'c2c2', 'efbbbf'];
const bytes = parts.slice(0, -1); // a byte order mark at the start is another matter
for (let i = 0; i < 150; i++) {
  let hex = '41';
  for (let n = next(8); n >= 0; n--) hex += pick(parts);
  bytes.push(hex);
}
const decoded = bytes.map((hex) => JSON.stringify([hex, new TextDecoder('utf-8').decode(Buffer.from(hex, 'hex')).length]));
console.log('{"stringify": [\n' + rows.join(',\n') + '\n],\n"decode": [\n' + decoded.join(',\n') + '\n]}');
