/*
 * Merlin transcripts (https://merlin.cool), which SecretConnection uses: STROBE-128 (https://strobe.sourceforge.io/specs, version 1.0.2)
 * over Keccak-f[1600], with the few operations that a transcript needs. Made for handshakes, not for speed.
 */

const MASK = (1n << 64n) - 1n
const ROUNDS = 24

/** Rotations and lane positions of ρ and π, in the order in which the lanes move. */
const ROTATIONS = [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44]
const LANES = [10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1]

const ROUND_CONSTANTS = roundConstants()

/** Computes the round constants (FIPS 202, algorithm 5: a linear feedback shift register). */
function roundConstants(): readonly bigint[] {
  const constants: bigint[] = []
  let register = 1
  for (let round = 0; round < ROUNDS; round++) {
    let constant = 0n
    for (let j = 0; j < 7; j++) {
      if ((register & 1) !== 0) constant |= 1n << BigInt(2 ** j - 1)
      register <<= 1
      if ((register & 0x100) !== 0) register ^= 0x171
    }
    constants.push(constant)
  }
  return constants
}

function rotate(lane: bigint, count: number): bigint {
  return ((lane << BigInt(count)) | (lane >> BigInt(64 - count))) & MASK
}

/** Applies Keccak-f[1600] (FIPS 202, section 3.3) to 200 bytes, in place. */
function permute(state: Uint8Array): void {
  const view = new DataView(state.buffer, state.byteOffset, state.length)
  const lanes = Array.from({ length: 25 }, (_, index) => view.getBigUint64(index * 8, true))
  for (const constant of ROUND_CONSTANTS) {
    // θ
    const parity = Array.from({ length: 5 }, (_, x) => {
      let sum = 0n
      for (let y = 0; y < 25; y += 5) sum ^= lanes[x + y]!
      return sum
    })
    for (let index = 0; index < 25; index++) {
      const x = index % 5
      lanes[index] = lanes[index]! ^ parity[(x + 4) % 5]! ^ rotate(parity[(x + 1) % 5]!, 1)
    }
    // ρ and π
    let moved = lanes[1]!
    for (const [index, lane] of LANES.entries()) {
      const next = lanes[lane]!
      lanes[lane] = rotate(moved, ROTATIONS[index]!)
      moved = next
    }
    // χ
    for (let y = 0; y < 25; y += 5) {
      const row = lanes.slice(y, y + 5)
      for (let x = 0; x < 5; x++) lanes[y + x] = row[x]! ^ (~row[(x + 1) % 5]! & MASK & row[(x + 2) % 5]!)
    }
    // ι
    lanes[0] = lanes[0]! ^ constant
  }
  for (const [index, lane] of lanes.entries()) view.setBigUint64(index * 8, lane, true)
}

/** Bytes of the state that operations use: those of security level 128. */
const RATE = 166

/** Flags of STROBE's operations. */
const INBOUND = 1
const APPLICATION = 2
const CIPHER = 4
const META = 16

class Strobe {
  readonly #state = new Uint8Array(200)
  #position = 0
  #begin = 0

  constructor(protocol: string) {
    this.#state.set([1, RATE + 2, 1, 0, 1, 96])
    this.#state.set(new TextEncoder().encode('STROBEv1.0.2'), 6)
    permute(this.#state)
    this.metaAd(new TextEncoder().encode(protocol), false)
  }

  /** @param continues whether this continues the last operation, which was of the same kind */
  metaAd(data: Uint8Array, continues: boolean): void {
    if (!continues) this.#start(META | APPLICATION)
    this.#absorb(data)
  }

  ad(data: Uint8Array): void {
    this.#start(APPLICATION)
    this.#absorb(data)
  }

  prf(length: number): Uint8Array {
    this.#start(INBOUND | APPLICATION | CIPHER)
    const out = new Uint8Array(length)
    for (let index = 0; index < length; index++) {
      out[index] = this.#state[this.#position]!
      this.#state[this.#position] = 0
      this.#advance()
    }
    return out
  }

  #start(flags: number): void {
    const begin = this.#begin
    this.#begin = this.#position + 1
    this.#absorb(Uint8Array.of(begin, flags))
    if ((flags & CIPHER) !== 0 && this.#position !== 0) this.#run()
  }

  #absorb(data: Uint8Array): void {
    for (const byte of data) {
      this.#state[this.#position]! ^= byte
      this.#advance()
    }
  }

  #advance(): void {
    this.#position++
    if (this.#position === RATE) this.#run()
  }

  #run(): void {
    this.#state[this.#position]! ^= this.#begin
    this.#state[this.#position + 1]! ^= 0x04
    this.#state[RATE + 1]! ^= 0x80
    permute(this.#state)
    this.#position = 0
    this.#begin = 0
  }
}

/** A transcript of a protocol: what both sides have seen, from which they derive the same challenges. */
export class MerlinTranscript {
  readonly #strobe = new Strobe('Merlin v1.0')

  constructor(label: string) {
    this.append('dom-sep', new TextEncoder().encode(label))
  }

  append(label: string, message: Uint8Array): void {
    this.#label(label, message.length)
    this.#strobe.ad(message)
  }

  challenge(label: string, length: number): Uint8Array {
    this.#label(label, length)
    return this.#strobe.prf(length)
  }

  #label(label: string, length: number): void {
    const size = new Uint8Array(4)
    new DataView(size.buffer).setUint32(0, length, true)
    this.#strobe.metaAd(new TextEncoder().encode(label), false)
    this.#strobe.metaAd(size, true)
  }
}
