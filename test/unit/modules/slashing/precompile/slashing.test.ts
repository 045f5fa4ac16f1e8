import { getAddress, type Hex, zeroAddress } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { SLASHING_GAS } from '../../../../../src/modules/slashing/messages.ts'
import { getSigningRecord, putSigningRecord } from '../../../../../src/modules/slashing/signingInfo.ts'
import { jail } from '../../../../../src/modules/staking/validators.ts'
import { BECH32_CONSENSUS, toBech32 } from '../../../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../../src/primitives/hash.ts'
import {
  ALICE,
  BOB,
  COIN,
  consensusKeyOf,
  NativeChain,
  OPERATORS,
} from '../../../../support/precompiles/nativeChain.ts'

const [FIRST] = OPERATORS as [Hex, Hex, Hex]
const NO_PAGE = { key: '0x', offset: 0n, limit: 0n, countTotal: false, reverse: false }
const consensusOf = (operator: Hex): Hex => bytesToHex(sha256(consensusKeyOf(operator)).slice(0, 20))
const JAIL_SECONDS = 600

let chain: NativeChain

beforeEach(() => {
  chain = new NativeChain()
  chain.nextBlock()
})

/** Puts a validator in jail as downtime does. */
function jailFirst(more: { readonly tombstoned?: boolean } = {}): void {
  chain.native((context) => {
    const consensusAddress = hexToBytes(consensusOf(FIRST))
    jail(context, consensusAddress)
    const record = getSigningRecord(context.world.native, consensusAddress)!
    const jailedUntil = BigInt(chain.timeMs + JAIL_SECONDS * 1000) * 1_000_000n
    putSigningRecord(context.world.native, consensusAddress, { ...record, jailedUntil, ...more })
  })
  chain.nextBlock()
}

const unjail = (from: Hex, validator = from) => chain.send(from, 'slashing', 'unjail', [validator])
const status = async () => {
  const { result } = await chain.read('staking', 'validator', [FIRST])
  const { jailed, status: bond } = result as { jailed: boolean; status: number }
  return [jailed, bond]
}

describe('unjail', () => {
  it('lets a validator back in after its time', async () => {
    jailFirst()
    expect(await status()).toEqual([true, 2])
    expect((await unjail(FIRST)).reason).toBe('validator still jailed; cannot be unjailed')
    chain.nextBlock({ waitMs: JAIL_SECONDS * 1000 })
    const outcome = await unjail(FIRST)
    expect(outcome.result).toBe(true)
    expect(outcome.events).toEqual([
      expect.objectContaining({ eventName: 'ValidatorUnjailed', args: { validator: FIRST } }),
    ])
    expect(outcome.applied.gasUsed).toBeGreaterThan(21_000n + SLASHING_GAS.unjail)
    chain.nextBlock()
    expect(await status()).toEqual([false, 3])
    expect(chain.problems()).toEqual([])
  })

  it.each([
    ['is not jailed', () => unjail(FIRST), /^validator not jailed; cannot be unjailed$/],
    ['is none', () => unjail(BOB), /^validator does not exist$/],
    ['is another one', () => unjail(ALICE, FIRST), /^msg.sender address .* does not match the requester address/],
    ['is the address 0', () => unjail(ALICE, zeroAddress), /does not match the requester address/],
  ] as const)('reverts where the validator %s', async (_what, run, reason) => {
    const outcome = await run()
    expect([outcome.reason, outcome.events]).toEqual([expect.stringMatching(reason), []])
  })

  it('never for who signed twice', async () => {
    jailFirst({ tombstoned: true })
    chain.nextBlock({ waitMs: JAIL_SECONDS * 1000 })
    expect((await unjail(FIRST)).reason).toBe('validator still jailed; cannot be unjailed')
    expect(await status()).toEqual([true, 2])
  })
})

describe('queries', () => {
  it('show liveness', async () => {
    for (let i = 0; i < 3; i++) chain.nextBlock({ absent: [FIRST] })
    const { result } = await chain.read('slashing', 'getSigningInfo', [consensusOf(FIRST)])
    expect(result).toEqual({
      validatorAddress: getAddress(consensusOf(FIRST)),
      startHeight: 0n,
      indexOffset: expect.any(BigInt),
      jailedUntil: 0n,
      tombstoned: false,
      missedBlocksCounter: 3n,
    })
    jailFirst()
    const jailed = await chain.read('slashing', 'getSigningInfo', [consensusOf(FIRST)])
    expect((jailed.result as { jailedUntil: bigint }).jailedUntil).toBeGreaterThan(1_767_225_600n)
  })

  it('list all of it in pages', async () => {
    const page = async (request: object) => {
      const { result } = await chain.read('slashing', 'getSigningInfos', [{ ...NO_PAGE, ...request }])
      const [infos, { nextKey, total }] = result as [{ validatorAddress: Hex }[], { nextKey: Hex; total: bigint }]
      return [infos.map(({ validatorAddress }) => validatorAddress.toLowerCase()), nextKey, total]
    }
    const sorted = OPERATORS.map(consensusOf).sort()
    expect(await page({})).toEqual([sorted, '0x', 3n])
    expect(await page({ limit: 1n })).toEqual([sorted.slice(0, 1), sorted[1], 0n])
    expect(await page({ key: sorted[1] })).toEqual([sorted.slice(1), '0x', 0n])
    expect(await page({ reverse: true, limit: 2n })).toEqual([[sorted[2], sorted[1]], sorted[0], 0n])
  })

  it('give the parameters of the genesis', async () => {
    const { result } = await chain.read('slashing', 'getParams')
    expect(result).toMatchObject({
      signedBlocksWindow: expect.any(BigInt),
      downtimeJailDuration: BigInt(JAIL_SECONDS),
      slashFractionDoubleSign: { value: COIN / 20n, precision: 18 },
    })
  })

  it('of unknown validators revert', async () => {
    expect((await chain.read('slashing', 'getSigningInfo', [zeroAddress])).reason).toBe('invalid consensus address')
    const name = toBech32(hexToBytes(ALICE), BECH32_CONSENSUS)
    expect((await chain.read('slashing', 'getSigningInfo', [ALICE])).reason).toBe(
      `rpc error: code = NotFound desc = SigningInfo not found for validator ${name}`,
    )
  })
})
