import fc from 'fast-check'
import { toFunctionSelector, bytesToHex as viemHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { compileContract } from '../../../../../contracts/compile.ts'
import {
  decodeValues,
  encodeValues,
  selectorOf,
  signatureOf,
} from '../../../../../src/modules/precompileFunctions/abi/codec.ts'
import {
  type AbiFields,
  address,
  array,
  bool,
  bytes,
  int64,
  int256,
  tuple,
  uint8,
  uint32,
  uint64,
  uint256,
} from '../../../../../src/modules/precompileFunctions/abi/types.ts'
import { bytesToHex, concatBytes, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { runs } from '../../../../propertyRuns.ts'
import { createMemoryChain } from '../../../../support/precompiles/memoryChain.ts'

const ECHO = '0xec40000000000000000000000000000000000001'
const CONTRACT = compileContract('test/AbiEcho.sol', 'AbiEcho')
const evm = createMemoryChain({ code: { [ECHO]: CONTRACT.deployedBytecode } })

const Coin = tuple({ denom: bytes, amount: uint256 })
const Fixed = tuple({ height: int64, status: uint8, account: address })
const Deep = tuple({
  name: bytes,
  coins: array(Coin),
  point: Fixed,
  points: array(Fixed),
  texts: array(bytes),
  time: int64,
})

/** Parameters of the contract's functions. */
const FUNCTIONS: Readonly<Record<string, AbiFields>> = {
  scalars: { a: address, b: bool, c: uint8, d: uint32, e: uint64, f: int64, g: int256, h: uint256 },
  texts: { a: bytes, b: uint64, c: bytes },
  page: { a: tuple({ key: bytes, offset: uint64, limit: uint64, countTotal: bool, reverse: bool }) },
  coins: { a: address, b: bytes, c: array(Coin) },
  numbers: { a: array(uint64), b: array(Fixed) },
  deep: { a: array(Deep), b: Deep },
}

const account = Uint8Array.from({ length: 20 }, (_, index) => index + 1)
const point = { height: -5n, status: 3n, account }
const coins = [
  { denom: Uint8Array.of(97, 99), amount: 1n },
  { denom: new Uint8Array(33).fill(7), amount: (1n << 256n) - 1n },
]
const deep = {
  name: Uint8Array.of(1),
  coins,
  point,
  points: [point, point],
  texts: [account, Uint8Array.of()],
  time: 9n,
}

/** Arguments of the contract's functions. */
const SAMPLES: Readonly<Record<string, object>> = {
  scalars: { a: account, b: true, c: 255n, d: 7n, e: 8n, f: -1n, g: -(1n << 255n), h: 10n },
  texts: { a: account, b: 5n, c: new Uint8Array(65).fill(9) },
  page: { a: { key: account, offset: 0n, limit: 10n, countTotal: true, reverse: false } },
  coins: { a: account, b: account, c: coins },
  numbers: { a: [1n, 2n, 3n], b: [point] },
  deep: { a: [deep, { ...deep, coins: [], texts: [] }], b: deep },
}

/** What the compiler's code answers: the arguments encoded again, or undefined when it refuses them. */
async function echo(name: string, data: Uint8Array): Promise<string | undefined> {
  const selector = selectorOf(signatureOf(name, FUNCTIONS[name]!))
  const { status, output } = await evm.call({
    from: '0xa11ce00000000000000000000000000000000001',
    to: ECHO,
    data: bytesToHex(concatBytes(selector, data)),
  })
  return status === 'success' ? bytesToHex(output) : undefined
}

/** What our codec makes of it. */
function again(name: string, data: Uint8Array): string | undefined {
  const fields = FUNCTIONS[name]!
  const values = decodeValues(fields, data)
  return values === undefined ? undefined : bytesToHex(encodeValues(fields, values))
}

const names = fc.constantFrom(...Object.keys(FUNCTIONS))
/** Words as hostile encoders choose them: small offsets and lengths, values at the edges of types, anything. */
const word = fc.oneof(
  { weight: 12, arbitrary: fc.nat(12).map((value) => BigInt(value) * 32n) },
  { weight: 12, arbitrary: fc.nat(2).map(BigInt) },
  fc.nat(100).map(BigInt),
  fc.constantFrom(0n, 1n, 2n, 255n, 256n, 1n << 32n, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n, 1n << 64n),
  fc.constantFrom((1n << 160n) - 1n, 1n << 160n, (1n << 256n) - 1n, (1n << 256n) - 32n, (1n << 256n) - (1n << 63n)),
  fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }),
)
const wordBytes = word.map((value) => hexToBytes(value.toString(16).padStart(64, '0')))
const anyData = fc
  .tuple(fc.array(wordBytes, { maxLength: 20 }), fc.uint8Array({ maxLength: 31 }))
  .map(([words, rest]) => concatBytes(...words, rest))

describe('against the Solidity compiler', () => {
  it('has its signatures', () => {
    for (const item of CONTRACT.abi as unknown as { name: string }[]) {
      expect(viemHex(selectorOf(signatureOf(item.name, FUNCTIONS[item.name]!)))).toBe(toFunctionSelector(item as never))
    }
  })

  it('refuses what its code refuses and reads the same of the rest', async () => {
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(names, anyData, async (name, data) => {
        accepted += await expectSame(name, data)
      }),
      { numRuns: runs(3_000) },
    )
    expect(accepted).toBeGreaterThan(100)
  })

  it('reads encodings in which words are changed, or that are cut, the same', async () => {
    const changes = fc.array(fc.tuple(fc.nat(), wordBytes), { maxLength: 3 })
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(names, changes, fc.nat(80), async (name, words, kept) => {
        const whole = encodeValues(FUNCTIONS[name]!, SAMPLES[name] as never)
        const data = whole.slice(0, kept < 40 ? whole.length - kept : whole.length)
        for (const [at, replaced] of words) {
          const place = Math.floor((at % data.length) / 32) * 32
          data.set(replaced.subarray(0, data.length - place), place)
        }
        accepted += await expectSame(name, data)
      }),
      { numRuns: runs(3_000) },
    )
    expect(accepted).toBeGreaterThan(300)
  })
})

/** Compares the two; 1 when they accept. */
async function expectSame(name: string, data: Uint8Array): Promise<number> {
  const theirs = await echo(name, data)
  const ours = again(name, data)
  if (ours === undefined && theirs !== undefined) {
    // parts that are used again and again: what they stand for is more than twice what was sent
    expect((theirs.length - 2) / 2).toBeGreaterThan(data.length * 2)
    return 0
  }
  expect(ours).toBe(theirs)
  return ours === undefined ? 0 : 1
}
