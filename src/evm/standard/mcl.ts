import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { PACKAGE_ROOT } from '../../primitives/location.ts'
import { selfTestError } from '../../primitives/selfTest.ts'
import { type WasmModule, WebAssembly } from '../../primitives/webAssembly.ts'

/**
 * The functions of mcl's WebAssembly that are used. Arguments are addresses in its memory: the result first, then the operands.
 * A field element takes {@link FP_SIZE} bytes, an element of Fp2 two, a point of G1 (Jacobian x, y, z) three, of G2 six.
 */
export interface MclFunctions {
  __wasm_call_ctors(): void
  malloc(size: number): number
  mclBn_init(curve: number, variant: number): number
  mclBn_verifyOrderG1(verify: number): void
  mclBn_verifyOrderG2(verify: number): void
  mclBnFr_setBigEndianMod(z: number, bytes: number, length: number): number
  mclBnFr_getLittleEndian(bytes: number, room: number, x: number): number
  mclBnFr_isZero(x: number): number
  mclBnFr_mul(z: number, x: number, y: number): void
  mclBnFr_inv(z: number, x: number): void
  mclBnFp_mul(z: number, x: number, y: number): void
  mclBnG1_isValid(x: number): number
  mclBnG1_add(z: number, x: number, y: number): void
  mclBnG1_normalize(z: number, x: number): void
  mclBnG1_isZero(x: number): number
  mclBnG2_isValid(x: number): number
  mclBnG2_add(z: number, x: number, y: number): void
  mclBnG2_normalize(z: number, x: number): void
  mclBnG2_isZero(x: number): number
}

/** Bytes that mcl reserves for each element of the base field, whatever the curve. */
export const FP_SIZE = 48
const G1_SIZE = 3 * FP_SIZE
const G2_SIZE = 6 * FP_SIZE
const FR_SIZE = 32

/** Numbers of mcl's interface: the curves, and the sizes of its fields that it was compiled for. */
const CURVE = { bls12381: 5, p256: 107 } as const
const VARIANT = 46
/** of its memory, as the package's own loader has it */
const INITIAL_PAGES = 32
const BEFORE_BYTES = "wasmBase64 = '"

/**
 * An instance of mcl for one curve, with its memory. The code that decodes points validates them; mcl itself checks no orders.
 * Calls are synchronous, and memory use does not grow with the inputs.
 */
export class Mcl {
  readonly f: MclFunctions
  readonly #memory: { readonly buffer: ArrayBuffer }
  #words: Uint32Array
  #bytes: Uint8Array

  constructor(module: WasmModule, curve: keyof typeof CURVE) {
    const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES })
    const { exports } = new WebAssembly.Instance(module, { env: { memory, cryptoGetRandomValues } })
    const f = exports as MclFunctions
    f.__wasm_call_ctors()
    if (f.mclBn_init(CURVE[curve], VARIANT) !== 0) throw new Error(`mcl does not know the curve ${curve}`)
    if (curve === 'bls12381') {
      f.mclBn_verifyOrderG1(0)
      f.mclBn_verifyOrderG2(0)
    }
    // Tests replace functions, which exports do not allow.
    this.f = { ...f }
    this.#memory = memory
    this.#words = new Uint32Array(this.#memory.buffer)
    this.#bytes = new Uint8Array(this.#memory.buffer)
  }

  /** The memory as 32-bit words. Do not store it across calls: a call may grow the memory. */
  get words(): Uint32Array {
    if (this.#words.length === 0) this.#words = new Uint32Array(this.#memory.buffer)
    return this.#words
  }

  /** The memory as bytes. Do not store it across calls. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#bytes = new Uint8Array(this.#memory.buffer)
    return this.#bytes
  }

  /** Reserves zeroed memory that is never freed. */
  allocate(size: number): number {
    const address = this.f.malloc(size)
    if (address === 0) throw new Error('mcl has no memory left')
    this.bytes.fill(0, address, address + size)
    return address
  }

  allocateFp(): number {
    return this.allocate(FP_SIZE)
  }

  allocateFr(): number {
    return this.allocate(FR_SIZE)
  }

  allocateG1(): number {
    return this.allocate(G1_SIZE)
  }

  allocateG2(): number {
    return this.allocate(G2_SIZE)
  }
}

/**
 * Creates an instance of mcl: each knows one curve only.
 * @throws SelfTestError when the package is not the one that this code was written for
 */
export function createMcl(curve: keyof typeof CURVE): Mcl {
  try {
    compiled ??= compile()
    return new Mcl(compiled, curve)
  } catch (error) {
    throw selfTestError('mcl-wasm', `fails for ${curve}`, error)
  }
}

/** of this thread */
let compiled: WasmModule | undefined

/**
 * Compiles the package's WebAssembly, which is base64 in the source of its loader. The loader
 * decodes it byte by byte, once for each instance, which takes most of the time to load all
 * precompiles.
 */
function compile(): WasmModule {
  const source = readFileSync(createRequire(PACKAGE_ROOT).resolve('mcl-wasm/dist/mcl_c.js'), 'latin1')
  const start = source.indexOf(BEFORE_BYTES) + BEFORE_BYTES.length
  const end = source.indexOf("'", start)
  if (start < BEFORE_BYTES.length || end < 0) throw new Error('its WebAssembly is not in dist/mcl_c.js')
  return new WebAssembly.Module(Buffer.from(source.slice(start, end), 'base64'))
}

function cryptoGetRandomValues(): never {
  throw new Error('nothing random is asked of mcl')
}

/**
 * Big-endian integers of calls in and out of mcl's memory. mcl keeps an element x as x·R modulo p, little-endian, with R = 2 to
 * the bits of its words: multiplying by R² and by 1 in that form converts between the two.
 */
export class FieldCodec {
  readonly #mcl: Mcl
  /** 32-bit words of an element */
  readonly #count: number
  readonly #modulus: readonly number[]
  readonly #squaredR: number
  readonly #one: number
  readonly #scratch: number

  /** Sets up a field. `byteLength` is that of an element: 32 for P-256, 48 for BLS12-381. */
  constructor(mcl: Mcl, modulus: bigint, byteLength: number) {
    this.#mcl = mcl
    this.#count = byteLength / 4
    this.#modulus = Array.from({ length: this.#count }, (_, i) => Number((modulus >> BigInt(32 * i)) & 0xffffffffn))
    this.#squaredR = mcl.allocateFp()
    this.#one = mcl.allocateFp()
    this.#scratch = mcl.allocateFp()
    this.#store((1n << BigInt(byteLength * 16)) % modulus, this.#squaredR)
    this.#store(1n, this.#one)
  }

  /** Reads the integer at `offset` of `bytes` into the element at `address`; false when it is not below the modulus. */
  read(bytes: Uint8Array, offset: number, address: number): boolean {
    const { words } = this.#mcl
    const start = address >>> 2
    let isBelow = false
    let isAbove = false
    let at = offset
    for (let i = this.#count - 1; i >= 0; i--) {
      const word = ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
      at += 4
      words[start + i] = word
      if (!isBelow && !isAbove) {
        const limit = this.#modulus[i]!
        isBelow = word < limit
        isAbove = word > limit
      }
    }
    if (!isBelow) return false
    this.#mcl.f.mclBnFp_mul(address, address, this.#squaredR)
    return true
  }

  /** Writes the element at `address` as an integer to `offset` of `bytes`. */
  write(address: number, bytes: Uint8Array, offset: number): void {
    this.#mcl.f.mclBnFp_mul(this.#scratch, address, this.#one)
    const { words } = this.#mcl
    const start = this.#scratch >>> 2
    let at = offset
    for (let i = this.#count - 1; i >= 0; i--) {
      const word = words[start + i]!
      bytes[at] = word >>> 24
      bytes[at + 1] = (word >>> 16) & 0xff
      bytes[at + 2] = (word >>> 8) & 0xff
      bytes[at + 3] = word & 0xff
      at += 4
    }
  }

  isZero(address: number): boolean {
    const { words } = this.#mcl
    const start = address >>> 2
    for (let i = 0; i < this.#count; i++) if (words[start + i] !== 0) return false
    return true
  }

  /** Makes the element at `address` the one. */
  setOne(address: number): void {
    this.#mcl.f.mclBnFp_mul(address, this.#one, this.#squaredR)
  }

  #store(value: bigint, address: number): void {
    const { words } = this.#mcl
    const start = address >>> 2
    for (let i = 0; i < FP_SIZE / 4; i++) words[start + i] = Number((value >> BigInt(32 * i)) & 0xffffffffn)
  }
}
