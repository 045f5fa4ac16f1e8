import { createRequire } from 'node:module'
import { PACKAGE_ROOT } from '../../primitives/location.ts'
import { selfTestError } from '../../primitives/selfTest.ts'

/**
 * The functions of mcl's WebAssembly that are used. Arguments are addresses in its memory: the result first, then the operands.
 * A field element takes {@link FP_SIZE} bytes, an element of Fp2 two, a point of G1 (Jacobian x, y, z) three, of G2 six.
 */
export interface MclFunctions {
  _malloc(size: number): number
  _mclBn_init(curve: number, variant: number): number
  _mclBn_setMapToMode(mode: number): number
  _mclBn_verifyOrderG1(verify: number): void
  _mclBn_verifyOrderG2(verify: number): void
  _mclBnFr_setBigEndianMod(z: number, bytes: number, length: number): number
  _mclBnFr_getLittleEndian(bytes: number, room: number, x: number): number
  _mclBnFr_isZero(x: number): number
  _mclBnFr_mul(z: number, x: number, y: number): void
  _mclBnFr_inv(z: number, x: number): void
  _mclBnFp_add(z: number, x: number, y: number): void
  _mclBnFp_mul(z: number, x: number, y: number): void
  _mclBnFp_sqr(z: number, x: number): void
  _mclBnFp_neg(z: number, x: number): void
  _mclBnFp_isNegative(x: number): number
  /** 0 when there is a root */
  _mclBnFp_squareRoot(z: number, x: number): number
  _mclBnFp_mapToG1(z: number, x: number): number
  _mclBnFp2_mul(z: number, x: number, y: number): void
  _mclBnFp2_mapToG2(z: number, x: number): number
  _mclBnG1_isValid(x: number): number
  _mclBnG1_isValidOrder(x: number): number
  _mclBnG1_add(z: number, x: number, y: number): void
  _mclBnG1_sub(z: number, x: number, y: number): void
  _mclBnG1_mul(z: number, x: number, scalar: number): void
  _mclBnG1_mulVec(z: number, points: number, scalars: number, count: number): void
  _mclBnG1_normalize(z: number, x: number): void
  _mclBnG1_isZero(x: number): number
  _mclBnG2_isValid(x: number): number
  _mclBnG2_isValidOrder(x: number): number
  _mclBnG2_add(z: number, x: number, y: number): void
  _mclBnG2_sub(z: number, x: number, y: number): void
  _mclBnG2_dbl(z: number, x: number): void
  _mclBnG2_mulVec(z: number, points: number, scalars: number, count: number): void
  _mclBnG2_normalize(z: number, x: number): void
  _mclBnG2_isZero(x: number): number
  _mclBnG2_isEqual(x: number, y: number): number
  _mclBnGT_mul(z: number, x: number, y: number): void
  _mclBnGT_isOne(x: number): number
  _mclBn_millerLoopVec(z: number, g1: number, g2: number, count: number): void
  _mclBn_finalExp(z: number, x: number): void
  _mclBn_getUint64NumToPrecompute(): number
  _mclBn_precomputeG2(buffer: number, g2: number): void
  _mclBn_precomputedMillerLoop2(z: number, g1a: number, bufferA: number, g1b: number, bufferB: number): void
}

interface MclModule extends MclFunctions {
  readonly wasmMemory: { readonly buffer: ArrayBuffer }
}

/** Bytes that mcl gives each element of the base field, whatever the curve. */
export const FP_SIZE = 48
export const G1_SIZE = 3 * FP_SIZE
export const G2_SIZE = 6 * FP_SIZE
const GT_SIZE = 12 * FP_SIZE
const FR_SIZE = 32

/** Numbers of mcl's interface: the curves, and the sizes of its fields that it was compiled for. */
const CURVE = { bn254: 4, bls12381: 5, p256: 107 } as const
const VARIANT = 46
/** Hashing to curves as RFC 9380 has it. */
const MAP_MODE_RFC9380 = 5

/**
 * An instance of mcl for one curve, with its memory. The code that decodes points validates them; mcl itself checks no orders.
 * Calls are synchronous, and memory use does not grow with the inputs.
 */
export class Mcl {
  readonly f: MclFunctions
  readonly #memory: { readonly buffer: ArrayBuffer }
  #words: Uint32Array
  #bytes: Uint8Array

  constructor(module: MclModule, curve: keyof typeof CURVE) {
    if (module._mclBn_init(CURVE[curve], VARIANT) !== 0) throw new Error(`mcl does not know the curve ${curve}`)
    if (curve === 'bls12381' && module._mclBn_setMapToMode(MAP_MODE_RFC9380) !== 0) {
      throw new Error('mcl does not map to curves as RFC 9380 does')
    }
    if (curve !== 'p256') {
      module._mclBn_verifyOrderG1(0)
      module._mclBn_verifyOrderG2(0)
    }
    this.f = module
    this.#memory = module.wasmMemory
    this.#words = new Uint32Array(this.#memory.buffer)
    this.#bytes = new Uint8Array(this.#memory.buffer)
  }

  /** The memory as 32-bit words; not to be kept over a call, which may grow the memory. */
  get words(): Uint32Array {
    if (this.#words.length === 0) this.#words = new Uint32Array(this.#memory.buffer)
    return this.#words
  }

  /** The memory as bytes; not to be kept over a call. */
  get bytes(): Uint8Array {
    if (this.#bytes.length === 0) this.#bytes = new Uint8Array(this.#memory.buffer)
    return this.#bytes
  }

  /** Zeroed memory that is never freed. */
  allocate(size: number): number {
    const address = this.f._malloc(size)
    if (address === 0) throw new Error('mcl has no memory left')
    this.bytes.fill(0, address, address + size)
    return address
  }

  allocateFp(count = 1): number {
    return this.allocate(count * FP_SIZE)
  }

  allocateFr(count = 1): number {
    return this.allocate(count * FR_SIZE)
  }

  allocateG1(count = 1): number {
    return this.allocate(count * G1_SIZE)
  }

  allocateG2(count = 1): number {
    return this.allocate(count * G2_SIZE)
  }

  allocateGT(): number {
    return this.allocate(GT_SIZE)
  }
}

/**
 * Compiles mcl's WebAssembly anew, because an instance knows one curve only.
 * @throws SelfTestError when the package is not the one that this code was written for
 */
export async function createMcl(curve: keyof typeof CURVE): Promise<Mcl> {
  try {
    const require = createRequire(PACKAGE_ROOT)
    const create = require('mcl-wasm/dist/mcl_c.js') as (options: {
      cryptoGetRandomValues(bytes: Uint8Array): void
    }) => Promise<MclModule>
    const module = await create({
      cryptoGetRandomValues() {
        throw new Error('nothing random is asked of mcl')
      },
    })
    return new Mcl(module, curve)
  } catch (error) {
    throw selfTestError('mcl-wasm', `fails for ${curve}`, error)
  }
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

  /** `byteLength` is that of an element: 32 for bn254, 48 for BLS12-381. */
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
    this.#mcl.f._mclBnFp_mul(address, address, this.#squaredR)
    return true
  }

  /** Writes the element at `address` as an integer to `offset` of `bytes`. */
  write(address: number, bytes: Uint8Array, offset: number): void {
    this.#mcl.f._mclBnFp_mul(this.#scratch, address, this.#one)
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

  /** Makes the element at `address` that of `value`, which is below the modulus. */
  set(address: number, value: bigint): void {
    this.#store(value, address)
    this.#mcl.f._mclBnFp_mul(address, address, this.#squaredR)
  }

  isZero(address: number): boolean {
    const { words } = this.#mcl
    const start = address >>> 2
    for (let i = 0; i < this.#count; i++) if (words[start + i] !== 0) return false
    return true
  }

  areEqual(a: number, b: number): boolean {
    const { words } = this.#mcl
    for (let i = 0; i < this.#count; i++) if (words[(a >>> 2) + i] !== words[(b >>> 2) + i]) return false
    return true
  }

  /** Makes the element at `address` the one. */
  setOne(address: number): void {
    this.#mcl.f._mclBnFp_mul(address, this.#one, this.#squaredR)
  }

  #store(value: bigint, address: number): void {
    const { words } = this.#mcl
    const start = address >>> 2
    for (let i = 0; i < FP_SIZE / 4; i++) words[start + i] = Number((value >> BigInt(32 * i)) & 0xffffffffn)
  }
}
