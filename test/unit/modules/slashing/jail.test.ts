import { expect, it } from 'vitest'
import { unjailValidator } from '../../../../src/modules/slashing/jail.ts'
import {
  missedCount,
  missingValidators,
  signingInfo,
  signingInfos,
} from '../../../../src/modules/slashing/signingInfo.ts'
import { undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { STAKING_PARAMS, setStakingParams } from '../../../../src/modules/staking/params.ts'
import { consensusAddressOf, putValidator } from '../../../../src/modules/staking/validators.ts'
import { BECH32_CONSENSUS, toBech32 } from '../../../../src/primitives/address.ts'
import { account, BLOCK_MS, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const C = account(3)

/** Of 10 blocks 5 must be signed; 1 % for downtime and 60 s, 5 % for double signing. */
function chain(window = 10n): StakingChain {
  return new StakingChain({
    validators: [
      { operator: A, stake: 100n * COIN },
      { operator: B, stake: 100n * COIN },
      { operator: C, stake: 100n * COIN },
    ],
    slashing: { signedBlocksWindow: window },
  })
}

function infoOf(net: StakingChain, operator: Uint8Array) {
  return signingInfo(net.context, consensusAddressOf(net.validator(operator)))!
}

it('counts missed blocks of the window and forgets those that leave it', () => {
  const net = chain()
  for (let height = 1; height <= 24; height++) {
    // Of blocks 5 to 8 and 15 the commit lacks B.
    const misses = [6, 7, 8, 9, 16].includes(height)
    net.begin({ absent: misses ? [B] : [] })
    const { missedBlocksCounter, indexOffset } = infoOf(net, B)
    expect(indexOffset).toBe(BigInt(height % 10))
    const expected = height < 6 ? 0 : height < 9 ? height - 5 : height < 16 ? 4 : ({ 16: 4, 17: 3, 18: 2 }[height] ?? 1)
    expect([height, missedBlocksCounter]).toEqual([height, BigInt(expected)])
    net.check()
    net.end()
  }
  expect(net.validator(B)).toMatchObject({ jailed: false, tokens: 100n * COIN })
})

it('writes nothing for validators that sign, whatever they once missed', () => {
  const net = chain()
  for (let height = 1; height <= 5; height++) net.block()
  expect(net.block({ absent: [B] })).toHaveLength(2)
  expect(net.block()).toEqual([])
  for (let height = 8; height < 16; height++) expect(net.block()).toEqual([])
  // The block that it missed leaves the window, and with it the bit and the count.
  expect(net.block()).toHaveLength(2)
  expect(net.block()).toEqual([])
})

it('slashes and jails who missed too many once the first window is over', () => {
  const net = chain()
  for (let height = 1; height <= 10; height++) net.block({ absent: [B] })
  expect(infoOf(net, B)).toMatchObject({ missedBlocksCounter: 9n })
  expect(net.validator(B).jailed).toBe(false)
  net.begin({ absent: [B] })
  expect(net.validator(B)).toMatchObject({ jailed: true, tokens: 99n * COIN, status: 'bonded' })
  expect(infoOf(net, B)).toMatchObject({
    missedBlocksCounter: 0n,
    jailedUntil: BigInt(net.context.block.timeMs) * 1_000_000n + 60_000_000_000n,
    tombstoned: false,
  })
  const address = toBech32(consensusAddressOf(net.validator(B)), BECH32_CONSENSUS)
  net.check()
  net.end()
  expect(net.validator(B).status).toBe('unbonding')
  // It still is in the set of the next block and misses it, too, which does not count any more.
  net.block({ absent: [B] })
  net.block({ absent: [B] })
  expect(infoOf(net, B)).toMatchObject({ address, missedBlocksCounter: 0n })
  expect(net.powers(net.height + 1)).toHaveLength(2)
  expect(net.validator(B).tokens).toBe(99n * COIN)
  net.check()
})

it('emits the events of the SDK', () => {
  const net = chain()
  for (let height = 1; height <= 10; height++) net.block({ absent: [B] })
  const events: unknown[] = []
  const { world } = net.context
  const emit = world.emitEvent.bind(world)
  world.emitEvent = (event) => {
    events.push([event.type, ...event.attributes.map(({ key, value }) => `${key}=${value}`)])
    emit(event)
  }
  net.begin({ absent: [B] })
  const address = toBech32(consensusAddressOf(net.validator(B)), BECH32_CONSENSUS)
  expect(events).toContainEqual(['liveness', `address=${address}`, 'missed_blocks=10', 'height=11'])
  expect(events).toContainEqual([
    'slash',
    `address=${address}`,
    'power=100',
    'reason=missing_signature',
    `jailed=${address}`,
    `burned_coins=${COIN}`,
  ])
})

it('lets a validator back when its time is over', () => {
  const net = chain()
  for (let height = 1; height <= 11; height++) net.block({ absent: [B] })
  net.begin()
  expect(unjailValidator(net.context, B)).toMatchObject({ codespace: 'slashing', code: 4 })
  expect(unjailValidator(net.context, A)).toMatchObject({ codespace: 'slashing', code: 5 })
  expect(unjailValidator(net.context, account(77))).toMatchObject({ codespace: 'staking', code: 3 })
  net.end()
  net.wait(60_000 - 3 * BLOCK_MS)
  net.begin()
  expect(unjailValidator(net.context, B)).toMatchObject({ code: 4 })
  net.end()
  net.begin()
  expect(unjailValidator(net.context, B)).toBeUndefined()
  net.end()
  expect(net.validator(B)).toMatchObject({ jailed: false, status: 'bonded' })
  expect(infoOf(net, B).startHeight).toBe(BigInt(net.height))
  net.check()
  // A new window: ten blocks without it do no harm, another one does.
  for (let block = 0; block < 10; block++) net.block({ absent: [B] })
  expect(net.validator(B).jailed).toBe(false)
  net.block({ absent: [B] })
  expect(net.validator(B).jailed).toBe(true)
  net.check()
})

it('keeps a validator without enough of its own stake in jail', () => {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 100n * COIN },
      { operator: B, stake: 100n * COIN },
    ],
  })
  net.block()
  net.begin()
  putValidator(net.context.world.native, { ...net.validator(B), minSelfDelegation: 50n * COIN })
  ok(undelegate(net.context, { delegator: B, operator: B, amount: 60n * COIN }))
  expect(net.validator(B).jailed).toBe(true)
  expect(unjailValidator(net.context, B)).toMatchObject({ codespace: 'slashing', code: 7 })
  ok(undelegate(net.context, { delegator: B, operator: B, amount: 40n * COIN }))
  expect(unjailValidator(net.context, B)).toMatchObject({ codespace: 'staking', code: 19 })
})

it('slashes, jails and tombstones who signs twice, once and for all', () => {
  const net = chain()
  for (let height = 1; height <= 5; height++) net.block()
  net.begin()
  const unbonding = ok(undelegate(net.context, { delegator: B, operator: B, amount: 40n * COIN }))
  expect(unbonding.creationHeight).toBe(6)
  net.end()
  // It signed height 7 twice with the power of 100 that it had until block 6 ended.
  net.block()
  const first = net.doubleSign(B, 7)
  expect(first.power).toBe(100n)
  net.block({ misbehaviour: [first] })
  // 5 of 100: 2 of the 40 that left since, 3 of the validator's
  expect(net.validator(B)).toMatchObject({ jailed: true, tokens: 57n * COIN, status: 'unbonding' })
  expect(infoOf(net, B)).toMatchObject({ tombstoned: true, jailedUntil: 253_402_300_799_000_000_000n })
  net.check()
  // Another height: recorded, but the validator is not punished twice.
  net.block({ misbehaviour: [net.doubleSign(B, 8)] })
  expect(net.validator(B).tokens).toBe(57n * COIN)
  net.wait(10 * 365 * 86_400_000)
  net.begin()
  expect(unjailValidator(net.context, B)).toMatchObject({ codespace: 'slashing', code: 4 })
  net.check()
})

it('keeps bits of long windows in chunks', () => {
  const net = chain(3000n)
  expect([...signingInfos(net.context)]).toHaveLength(3)
  for (let height = 1; height <= 2500; height++) net.block({ absent: height % 3 === 0 ? [B] : [] })
  const address = consensusAddressOf(net.validator(B))
  expect(missedCount(net.context.world.native, address)).toBe(833)
  net.check()
})

it('forgets what a validator missed when it is unbonded, so that blocks read nothing of validators that left', () => {
  const net = chain()
  for (let blocks = 0; blocks < 4; blocks++) net.block({ absent: [A] })
  expect(missedCount(net.context.world.native, consensusAddressOf(net.validator(A)))).toBe(3)
  net.begin()
  const { native } = net.context.world
  setStakingParams(native, { ...STAKING_PARAMS.get(native), maxValidators: 2 })
  ok(undelegate(net.context, { delegator: A, operator: A, amount: COIN }))
  net.end()
  net.block()
  expect(net.validator(A).status).toBe('unbonding')
  net.wait(5_000)
  net.block()
  expect(net.validator(A).status).toBe('unbonded')
  expect(missingValidators(net.context.world.native).size).toBe(0)
  net.check()
})
