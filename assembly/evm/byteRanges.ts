// Moving and clearing byte ranges. For short ones a loop is faster: `memory.copy` and `memory.fill` call out of WebAssembly code.

const SHORT: usize = 512

/** Copies like `memory.copy`: the ranges may overlap. */
export function moveBytes(to: usize, from: usize, length: usize): void {
  if (length > SHORT) memory.copy(to, from, length)
  else if (to <= from) moveForward(to, from, length)
  else moveBackward(to, from, length)
}

/** Copies upwards. Bytes that are loaded together are stored together: bytes that are overwritten were read before. */
function moveForward(to: usize, from: usize, length: usize): void {
  while (length >= 64) {
    const first = v128.load(from)
    const second = v128.load(from, 16)
    const third = v128.load(from, 32)
    const fourth = v128.load(from, 48)
    v128.store(to, first)
    v128.store(to, second, 16)
    v128.store(to, third, 32)
    v128.store(to, fourth, 48)
    to += 64
    from += 64
    length -= 64
  }
  while (length >= 16) {
    v128.store(to, v128.load(from))
    to += 16
    from += 16
    length -= 16
  }
  while (length > 0) {
    store<u8>(to++, load<u8>(from++))
    length--
  }
}

function moveBackward(to: usize, from: usize, length: usize): void {
  while (length >= 64) {
    length -= 64
    const first = v128.load(from + length)
    const second = v128.load(from + length, 16)
    const third = v128.load(from + length, 32)
    const fourth = v128.load(from + length, 48)
    v128.store(to + length, first)
    v128.store(to + length, second, 16)
    v128.store(to + length, third, 32)
    v128.store(to + length, fourth, 48)
  }
  while (length >= 16) {
    length -= 16
    v128.store(to + length, v128.load(from + length))
  }
  while (length > 0) {
    length--
    store<u8>(to + length, load<u8>(from + length))
  }
}

/** Sets a range to zero. */
export function clearBytes(at: usize, length: usize): void {
  if (length > SHORT) {
    memory.fill(at, 0, length)
    return
  }
  const end = at + length
  while (at + 16 <= end) {
    v128.store(at, i64x2(0, 0))
    at += 16
  }
  while (at < end) store<u8>(at++, 0)
}
