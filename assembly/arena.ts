// Records of one run: taken one after the other from chunks, all given back at once. A record never moves.

const CHUNK: usize = 1 << 18
const HEADER: usize = 16

const first: usize = heap.alloc(CHUNK)
let chunk: usize = first
let next: usize = first + HEADER
let end: usize = first + CHUNK
store<usize>(first, 0)

/** `size` bytes, a multiple of 16 and no larger than a chunk, all zero. */
export function allocateRecord(size: usize): usize {
  if (next + size > end) {
    const added = heap.alloc(CHUNK)
    store<usize>(added, chunk)
    chunk = added
    next = added + HEADER
    end = added + CHUNK
  }
  const record = next
  next += size
  memory.fill(record, 0, size)
  return record
}

export function freeRecords(): void {
  while (chunk !== first) {
    const previous = load<usize>(chunk)
    heap.free(chunk)
    chunk = previous
  }
  next = first + HEADER
  end = first + CHUNK
}
