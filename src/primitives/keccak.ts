import { loadBuiltModule } from './builtModule.ts'
import { bytesKeyOf } from './bytes.ts'

/** The exports of assembly/keccak/hashing.ts. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  inputAddress(): number
  inputSize(): number
  hashAddress(): number
  hashInput(length: number): void
}

const wasm = loadBuiltModule<Exports>('keccak')

/** Memory for the input of a hash: a caller that writes there saves a copy. Every hash overwrites it. */
export const keccakInput = new Uint8Array(wasm.memory.buffer, wasm.inputAddress(), wasm.inputSize())
const hash = new Uint8Array(wasm.memory.buffer, wasm.hashAddress(), 32)

/** Returns keccak-256 of the first `length` bytes of {@link keccakInput}, in a new array of 32 bytes. */
export function keccakOfInput(length: number): Uint8Array {
  wasm.hashInput(length)
  return hash.slice()
}

/** Returns keccak-256 of a few bytes, at most as many as {@link keccakInput} has. The next hash overwrites it. */
export function keccakView(bytes: Uint8Array): Uint8Array {
  writeInput(bytes)
  wasm.hashInput(bytes.length)
  return hash
}

/** Returns the same as {@link keccakOfInput} as a string (`bytesKey`). */
export function keccakKeyOfInput(length: number): string {
  wasm.hashInput(length)
  return bytesKeyOf(hash, 0, 32)
}

/** Returns keccak-256 of a few bytes, at most as many as {@link keccakInput} has, as a string (`bytesKey`). */
export function keccakKey(bytes: Uint8Array): string {
  writeInput(bytes)
  return keccakKeyOfInput(bytes.length)
}

/** Copies bytes to {@link keccakInput}. A loop is faster for few of them than a call of `set`. */
export function writeInput(bytes: Uint8Array): void {
  const { length } = bytes
  if (length > 64) keccakInput.set(bytes)
  else for (let i = 0; i < length; i++) keccakInput[i] = bytes[i]!
}
