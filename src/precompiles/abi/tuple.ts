import { bigIntToBytes } from '../../primitives/bytes.ts'
import { type AbiReader, WORD_BYTES } from './reader.ts'
import type { AbiType } from './type.ts'

/** Bytes of the part that holds every value or the offset to it. */
export function tupleHeadBytes(types: readonly AbiType<unknown>[]): number {
  return types.reduce((sum, type) => sum + type.headBytes, 0)
}

/**
 * Values one after the other from `start` on; the offsets of dynamic ones count from there.
 * @throws AbiError
 */
export function readTuple(reader: AbiReader, start: number, types: readonly AbiType<unknown>[]): unknown[] {
  const values: unknown[] = []
  let head = start
  for (const type of types) {
    values.push(type.read(reader, type.isDynamic ? start + reader.size(head) : head))
    head += type.headBytes
  }
  return values
}

/** The inverse of {@link readTuple}: heads, then what the heads point to, without gaps. */
export function writeTuple(types: readonly AbiType<unknown>[], values: readonly unknown[]): Uint8Array {
  const parts = types.map((type, index) => type.encode(values[index]))
  let tail = tupleHeadBytes(types)
  const total = parts.reduce((sum, part, index) => (types[index]!.isDynamic ? sum + part.length : sum), tail)
  const out = new Uint8Array(total)
  let head = 0
  for (const [index, type] of types.entries()) {
    const part = parts[index]!
    if (type.isDynamic) {
      out.set(bigIntToBytes(BigInt(tail), WORD_BYTES), head)
      out.set(part, tail)
      tail += part.length
    } else {
      out.set(part, head)
    }
    head += type.headBytes
  }
  return out
}
