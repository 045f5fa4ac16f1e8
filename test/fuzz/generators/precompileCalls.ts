import { readFileSync } from 'node:fs'
import { OP } from '../../../src/evm/opcodes.ts'
import { bigIntToBytes, concatBytes, hexToBytes } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import { signDigest } from '../../../src/primitives/secp256k1.ts'
import { createCodeWriter } from '../codeWriter.ts'
import { edgeWord } from '../edgeWords.ts'
import type { FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { bystanders, CONTRACTS, contractAccount } from '../population.ts'
import type { Random } from '../random.ts'

const BN254_ORDER = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n
const BN254_G1 = concatBytes(bigIntToBytes(1n, 32), bigIntToBytes(2n, 32))
/** The generator of G2 and G1's negative: e(-G1, G2) e(G1, G2) = 1. */
const BN254_G2 = hexToBytes(
  '0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2' +
    '1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed' +
    '090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b' +
    '12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa',
)

/** Inputs of the conformance vectors, by the number of the precompile that they were made for. */
const corpora = new Map<number, readonly Uint8Array[]>()

/** A contract that passes its input to a precompile and returns the output, with an input that is nearly valid. */
export function precompileCallsCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const accounts = bystanders(random)
  const fork = pickFork(random)
  const number = random.weighted<number>([
    [3, 1],
    [1, 2],
    [1, 3],
    [1, 4],
    [3, 5],
    [3, 6],
    [3, 7],
    [1, 8],
    [3, 9],
    [1, 10],
    [1, random.between(11, 17)],
    [2, 0x100],
  ])
  const valid = inputOf(number, random)
  const data = random.oneIn(3) ? spoil(valid, random) : valid
  accounts.push(contractAccount(CONTRACTS[0]!, forwardingCode(number, random), random))
  const address = new Uint8Array(20)
  address[18] = number >> 8
  address[19] = number & 0xff
  const to = random.oneIn(4) ? address : CONTRACTS[0]!
  const gasLimit = BigInt(random.oneIn(3) ? random.below(10_000) : random.between(10_000, 500_000))
  return { kind: 'precompile', fork, accounts, messages: [{ ...messageTo(random, to), data, gasLimit }] }
}

function forwardingCode(number: number, random: Random): Uint8Array {
  const writer = createCodeWriter()
  const kind = random.pick([OP.STATICCALL, OP.CALL, OP.DELEGATECALL, OP.CALLCODE])
  writer.op(OP.CALLDATASIZE, OP.PUSH0, OP.PUSH0, OP.CALLDATACOPY)
  // some of the output overwrites the input
  writer.push(BigInt(random.pick([0, 1, 32, 64, 300])))
  writer.push(BigInt(random.below(40)))
  writer.op(OP.CALLDATASIZE, OP.PUSH0)
  if (kind === OP.CALL || kind === OP.CALLCODE) writer.push(BigInt(random.below(2)))
  writer.push(BigInt(number))
  if (random.oneIn(3)) writer.push(BigInt(random.below(20_000)))
  else writer.op(OP.GAS)
  writer.op(kind, OP.GAS, OP.MSIZE)
  for (const offset of [64n, 32n, 0n]) {
    writer.push(offset)
    writer.op(OP.MSTORE)
  }
  writer.op(OP.RETURNDATASIZE, OP.PUSH0)
  writer.push(96n)
  writer.op(OP.RETURNDATACOPY, OP.RETURNDATASIZE)
  writer.push(96n)
  writer.op(OP.ADD, OP.PUSH0, OP.RETURN)
  return writer.finish()
}

function inputOf(number: number, random: Random): Uint8Array {
  switch (number) {
    case 1: {
      const digest = keccak256(random.bytes(4))
      const { r, s, yParity } = signDigest(digest, random.bytes(32).with(0, 1))
      return concatBytes(digest, ...[27n + BigInt(yParity), r, s].map(word))
    }
    case 5:
      return random.oneIn(2) ? smallModexp(random) : random.pick(corpus(5, 'modexp'))
    case 6:
      return concatBytes(random.pick([BN254_G1, new Uint8Array(64)]), random.pick([BN254_G1, new Uint8Array(64)]))
    case 7:
      return concatBytes(BN254_G1, word(random.oneIn(2) ? edgeWord(random) : BN254_ORDER - BigInt(random.below(3))))
    case 8:
      return concatBytes(...Array.from({ length: random.below(3) }, () => concatBytes(BN254_G1, BN254_G2)))
    case 9:
      return concatBytes(Uint8Array.of(0, 0, random.below(2), random.below(256)), random.bytes(208), Uint8Array.of(1))
    case 0x100:
      return random.pick(corpus(0x100, 'eip7951P256Verify'))
    default:
      if (number > 10) return random.pick(corpus(number, 'eip2537Bls12381'))
      return random.bytes(random.below(300))
  }
}

/** Lengths, then base, exponent and modulus of a few bytes. */
function smallModexp(random: Random): Uint8Array {
  const lengths = [random.below(40), random.below(36), random.below(40)]
  const parts = lengths.map((length) => random.bytes(length))
  return concatBytes(...lengths.map((length) => word(BigInt(length))), ...parts)
}

function corpus(number: number, file: string): readonly Uint8Array[] {
  let inputs = corpora.get(number)
  if (inputs === undefined) {
    const path = new URL(`../../conformance/vectors/${file}.json`, import.meta.url)
    const tests = JSON.parse(readFileSync(path, 'utf8')) as Record<string, VectorTest>
    const own = Object.values(tests).filter((test) => file !== 'eip2537Bls12381' || callsPrecompile(test, number))
    inputs = own.flatMap(({ transaction }) => transaction.data.map(hexToBytes)).filter(({ length }) => length < 2_000)
    if (inputs.length === 0) inputs = [new Uint8Array(0)]
    corpora.set(number, inputs)
  }
  return inputs
}

interface VectorTest {
  readonly pre: Readonly<Record<string, { readonly code: string }>>
  readonly transaction: { readonly data: readonly string[] }
}

/** The vectors' contract pushes the number just before the gas of its STATICCALL. */
function callsPrecompile({ pre }: VectorTest, number: number): boolean {
  const push = `5f365f60${number.toString(16).padStart(2, '0')}62`
  return Object.values(pre).some(({ code }) => code.includes(push))
}

function spoil(input: Uint8Array, random: Random): Uint8Array {
  if (input.length === 0) return random.bytes(random.below(200))
  const at = random.below(input.length)
  switch (random.below(4)) {
    case 0:
      return input.slice(0, at)
    case 1:
      return concatBytes(input, random.bytes(random.below(40)))
    case 2:
      return input.with(at, random.below(256))
    default: {
      // an edge in the place of a word
      const spoiled = new Uint8Array(input)
      spoiled.set(word(edgeWord(random)).slice(0, Math.min(32, input.length - at)), at)
      return spoiled
    }
  }
}

function word(value: bigint): Uint8Array {
  return bigIntToBytes(value, 32)
}
