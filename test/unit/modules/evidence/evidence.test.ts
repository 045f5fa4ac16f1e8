import { describe, expect, it } from 'vitest'
import type { NativeEvent } from '../../../../src/chain/block/entries.ts'
import { getEvidence, isCommitted, recordEvidence } from '../../../../src/modules/evidence/evidence.ts'
import { signingInfo } from '../../../../src/modules/slashing/signingInfo.ts'
import { undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { consensusAddressOf, getValidator } from '../../../../src/modules/staking/validators.ts'
import { BECH32_CONSENSUS, toBech32 } from '../../../../src/primitives/address.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const A = account(1)
const B = account(2)

function chain(): StakingChain {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 100n * COIN },
      { operator: B, stake: 60n * COIN },
    ],
  })
  net.block()
  net.block()
  return net
}

/** Events of the block's beginning. */
function beginWith(net: StakingChain, misbehaviour: ReturnType<StakingChain['doubleSign']>[]): NativeEvent[] {
  const events: NativeEvent[] = []
  const { world } = net.context
  const emit = world.emitEvent.bind(world)
  world.emitEvent = (event) => {
    events.push(event)
    emit(event)
  }
  net.begin({ misbehaviour })
  return events
}

const textOf = ({ type, attributes }: NativeEvent) =>
  `${type} ${attributes.map(({ key, value }) => `${key}=${value}`).join(' ')}`

it('records evidence and punishes with the power of the time', () => {
  const net = chain()
  const found = net.doubleSign(B, 2)
  const events = beginWith(net, [found]).map(textOf)
  const { native } = net.context.world
  expect(getEvidence(native, found.hash)).toEqual(found.bytes)
  expect(isCommitted(native, found.address, 2)).toBe(true)
  expect(net.validator(B)).toMatchObject({ jailed: true, tokens: 57n * COIN })
  const address = toBech32(found.address, BECH32_CONSENSUS)
  expect(events).toContain(`slash address=${address} power=60 reason=double_sign burned_coins=${3n * COIN}`)
  expect(events.at(-1)).toBe(`slash jailed=${address}`)
  net.check()
})

it('punishes one of two faults in a block once, and does not slash the innocent', () => {
  const net = chain()
  net.begin({ misbehaviour: [net.doubleSign(B, 1), net.doubleSign(B, 2)] })
  expect(net.validator(B).tokens).toBe(57n * COIN)
  expect(net.validator(A)).toMatchObject({ jailed: false, tokens: 100n * COIN })
  expect(isCommitted(net.context.world.native, consensusAddressOf(net.validator(B)), 1)).toBe(true)
  expect(isCommitted(net.context.world.native, consensusAddressOf(net.validator(B)), 2)).toBe(true)
})

it('slashes what was undelegated since, not what was before', () => {
  const net = chain()
  net.begin()
  ok(undelegate(net.context, { delegator: B, operator: B, amount: 20n * COIN }))
  net.end()
  net.begin()
  ok(undelegate(net.context, { delegator: B, operator: B, amount: 20n * COIN }))
  net.end()
  net.block()
  // The stakes of block 5 are those of the end of block 3: without the first 20, with the second.
  expect(net.powers(5)[1]!.power).toBe(40n)
  net.begin({ misbehaviour: [net.doubleSign(B, 5)] })
  // 5 % of 40: one of the second entry, one of the validator; the first entry stays whole.
  expect(net.validator(B).tokens).toBe(19n * COIN)
  net.end()
  net.wait(60_000)
  net.block()
  expect(net.context.world.getBalance(B)).toBe(39n * COIN)
  net.check()
})

it('lets a fault of a validator pass whose stake is free again, and of one that is gone', () => {
  const net = chain()
  const [late, later] = [net.doubleSign(B, 1), net.doubleSign(B, 2)]
  net.begin()
  ok(undelegate(net.context, { delegator: B, operator: B, amount: 59n * COIN }))
  ok(undelegate(net.context, { delegator: B, operator: B, amount: COIN / 2n }))
  net.end()
  net.wait(60_000)
  net.block()
  expect(net.validator(B).status).toBe('unbonded')
  net.block({ misbehaviour: [late] })
  expect(net.validator(B)).toMatchObject({ tokens: COIN / 2n, jailed: false })
  expect(signingInfo(net.context, late.address)).toMatchObject({ tombstoned: false })
  net.begin()
  ok(undelegate(net.context, { delegator: B, operator: B, amount: COIN / 2n }))
  net.end()
  expect(getValidator(net.context.world.native, B)).toBeUndefined()
  net.block({ misbehaviour: [later] })
  expect(isCommitted(net.context.world.native, later.address, 2)).toBe(true)
  net.check()
})

describe('recorded evidence', () => {
  const ADDRESS = new Uint8Array(20).fill(3)
  const FOUND = { hash: new Uint8Array(32).fill(1), bytes: Uint8Array.of(1, 2, 3), address: ADDRESS, height: 5 }

  it('is found by its hash, and by validator and height', () => {
    const { native } = new Journal(new MemoryStateReader())
    expect(isCommitted(native, ADDRESS, 5)).toBe(false)
    recordEvidence(native, FOUND)
    expect(isCommitted(native, ADDRESS, 5)).toBe(true)
    expect(isCommitted(native, ADDRESS, 6)).toBe(false)
    expect(isCommitted(native, new Uint8Array(20).fill(4), 5)).toBe(false)
    expect(getEvidence(native, FOUND.hash)).toEqual(FOUND.bytes)
    expect(getEvidence(native, new Uint8Array(32))).toBeUndefined()
  })

  it('is recorded once for a validator and height, whatever other votes there are', () => {
    const { native } = new Journal(new MemoryStateReader())
    recordEvidence(native, FOUND)
    expect(() => recordEvidence(native, { ...FOUND, hash: new Uint8Array(32).fill(2) })).toThrow('recorded already')
  })
})
