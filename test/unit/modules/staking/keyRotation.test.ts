import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CONSENSUS_PARAMS } from '../../../../src/modules/consensus/params.ts'
import { getFeePool } from '../../../../src/modules/distribution/feePool.ts'
import { accruedRewards } from '../../../../src/modules/distribution/rewards.ts'
import { unjailValidator } from '../../../../src/modules/slashing/jail.ts'
import { missedCount, signingInfo } from '../../../../src/modules/slashing/signingInfo.ts'
import { beginRedelegate, delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import {
  formerHolderOf,
  lockedKeys,
  pendingRotations,
  rotateConsensusKey,
} from '../../../../src/modules/staking/keyRotation.ts'
import { checkCreation } from '../../../../src/modules/staking/operatorActions.ts'
import { STAKING_PARAMS, setStakingParams, validateStakingParams } from '../../../../src/modules/staking/params.ts'
import { queued } from '../../../../src/modules/staking/queue.ts'
import { Params } from '../../../../src/modules/staking/types.ts'
import { consensusAddressOf, getOperator, getValidatorByConsensus } from '../../../../src/modules/staking/validators.ts'
import type { Address } from '../../../../src/primitives/address.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { putDelegated, putSchedule, VESTING_KINDS } from '../../../../src/state/vesting.ts'
import { runs } from '../../../propertyRuns.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const C = account(3)
/** has coins and delegates */
const D = account(4)

const key = (number: number) => new Uint8Array(32).fill(number)
const addressOf = (publicKey: Uint8Array) => consensusAddressOf({ publicKey })
const addressOfOperator = (operator: Address) => addressOf(sha256(operator))

/** Of 10 blocks 5 must be signed. Unbonding takes 4 s, evidence is valid for 15 blocks or 2 s, a block takes 400 ms. */
function chain(): StakingChain {
  return new StakingChain({
    validators: [A, B, C].map((operator) => ({ operator, stake: 100n * COIN })),
    holders: [A, B, C, D],
  })
}

function rotate(net: StakingChain, operator: Address, publicKey: Uint8Array): string | undefined {
  return rotateConsensusKey(net.context, { operator, publicKey })?.message
}

/** A block in whose transactions `operator` rotates to `publicKey`. */
function rotationBlock(net: StakingChain, operator: Address, publicKey: Uint8Array): void {
  net.begin()
  expect(rotate(net, operator, publicKey)).toBeUndefined()
  net.check()
  net.end()
  net.check()
}

function hasPower(net: StakingChain, height: number, address: Uint8Array): boolean {
  return net.powers(height).some((one) => bytesToHex(one.address) === bytesToHex(address))
}

describe('the keys', () => {
  it('change in consensus two blocks later, and in the record at the end of that block', () => {
    const net = chain()
    for (let height = 1; height <= 4; height++) net.block()
    rotationBlock(net, B, key(9)) // height 5
    const [from, to] = [addressOfOperator(B), addressOf(key(9))]
    expect(net.powers(6)).toEqual(net.powers(4))
    expect([hasPower(net, 7, from), hasPower(net, 7, to)]).toEqual([false, true])
    expect(net.powers(7).map(({ power }) => power)).toEqual([100n, 100n, 100n])
    net.block() // 6
    net.begin() // 7, with a commit of the old key
    expect(net.validator(B).publicKey).toEqual(sha256(B))
    // Its proposer may have the new key.
    expect(getOperator(net.context.world.native, to)).toEqual(B)
    net.end()
    net.check()
    expect(net.validator(B).publicKey).toEqual(key(9))
    const { native } = net.context.world
    expect(getValidatorByConsensus(native, to)?.operator).toEqual(B)
    expect(getValidatorByConsensus(native, from)).toBeUndefined()
    expect(formerHolderOf(native, from)?.operator).toEqual(B)
    expect(getOperator(native, from)).toEqual(B)
    expect(pendingRotations(native)).toEqual([])
    // Distribution notes the new votes.
    expect(net.block()).toHaveLength(1)
    for (let height = 9; height < 12; height++) expect(net.block()).toEqual([])
    expect(net.powers(13)).toEqual(net.powers(7))
  })

  it('change while the power does', () => {
    const net = chain()
    net.block()
    net.begin()
    expect(rotate(net, B, key(9))).toBeUndefined()
    ok(delegate(net.context, { delegator: D, operator: B, amount: 5n * COIN }))
    net.end()
    const to = addressOf(key(9))
    expect(net.powers(4)[0]).toEqual({ address: to, power: 105n })
    net.begin()
    ok(delegate(net.context, { delegator: D, operator: B, amount: 2n * COIN }))
    net.end()
    expect(net.powers(5)[0]).toEqual({ address: to, power: 107n })
    net.begin()
    ok(delegate(net.context, { delegator: D, operator: B, amount: 1n * COIN }))
    net.end()
    expect(net.powers(6)[0]).toEqual({ address: to, power: 108n })
    expect(net.powers(6)).toHaveLength(3)
    net.check()
  })

  it.each([0, 1, 2])('of a validator that leaves the set %i blocks later leave it, too', (later) => {
    const net = chain()
    net.block()
    net.begin()
    expect(rotate(net, B, key(9))).toBeUndefined()
    for (let block = 0; block < later; block++) {
      net.end()
      net.begin()
    }
    ok(undelegate(net.context, { delegator: B, operator: B, amount: 100n * COIN }))
    net.end()
    net.check()
    for (let block = 0; block < 4; block++) net.block()
    net.check()
    expect(net.powers(net.height + 2)).toHaveLength(2)
    expect(net.powers(net.height).map(({ power }) => power)).toEqual([100n, 100n])
  })

  it('of a validator that comes into the set while it rotates come under the new one', () => {
    const net = chain()
    net.block()
    net.begin()
    ok(undelegate(net.context, { delegator: B, operator: B, amount: 100n * COIN - 1n }))
    net.end()
    for (let block = 0; block < 3; block++) net.block()
    expect(net.powers(net.height)).toHaveLength(2)
    rotationBlock(net, B, key(9))
    net.begin()
    ok(delegate(net.context, { delegator: D, operator: B, amount: 50n * COIN }))
    net.end()
    expect(net.powers(net.height + 2)).toContainEqual({ address: addressOf(key(9)), power: 50n })
    expect(net.powers(net.height + 2)).toHaveLength(3)
    net.block()
    net.block()
    net.check()
    expect(signingInfo(net.context, addressOf(key(9)))).toMatchObject({ tombstoned: false })
  })
})

describe('a rotation', () => {
  it('takes the fee and burns it', () => {
    const net = chain()
    net.begin()
    const { world } = net.context
    const before = world.getBalance(B)
    const events: unknown[] = []
    const emit = world.emitEvent.bind(world)
    world.emitEvent = (event) => {
      events.push([event.type, ...event.attributes.map(({ key, value }) => `${key}=${value}`)])
      emit(event)
    }
    expect(rotate(net, B, key(9))).toBeUndefined()
    expect(before - world.getBalance(B)).toBe(COIN)
    expect(events.map((event) => (event as string[])[0])).toContain('burn')
    expect(events.at(-1)).toEqual([
      'rotate_cons_pubkey',
      expect.stringMatching(/^validator=coinvaloper1/),
      expect.stringMatching(/^old_cons_addr=coinvalcons1/),
      expect.stringMatching(/^new_cons_addr=coinvalcons1/),
      'apply_height=3',
      'maturity_time=2026-01-01T00:00:04Z',
      'evidence_expiry_time=2026-01-01T00:00:04Z',
      'evidence_expiry_height=18',
      `fee_burned=${COIN}acoin`,
    ])
  })

  it('is paid from coins that are not locked', () => {
    const net = chain()
    const lock = (originalVesting: bigint): void => {
      net.begin()
      const { native } = net.context.world
      putSchedule(native, B, {
        kind: VESTING_KINDS.PERMANENT,
        originalVesting,
        startTime: 0n,
        endTime: 0n,
        periods: [],
      })
      putDelegated(native, B, { vesting: 0n, free: 0n })
      net.end()
      net.begin()
    }
    lock(1_000_000n * COIN - COIN + 1n)
    expect(rotate(net, B, key(9))).toMatch('smaller than')
    net.end()
    lock(1_000_000n * COIN - COIN)
    expect(rotate(net, B, key(9))).toBeUndefined()
    expect(net.context.world.getBalance(B)).toBe(999_999n * COIN)
    net.check()
    net.end()
  })

  it('is refused without funds, for an unknown or jailed validator, and for keys in use', () => {
    const net = chain()
    net.begin()
    expect(rotate(net, account(7), key(9))).toMatch('validator does not exist')
    expect(rotate(net, B, sha256(B))).toMatch('already in use')
    expect(rotate(net, B, sha256(C))).toMatch('already in use')
    expect(rotate(net, C, key(8))).toBeUndefined()
    expect(rotate(net, B, key(8))).toMatch('previously rotated away')
    expect(rotate(net, B, sha256(C))).toMatch('previously rotated away')
    net.end()
    const poor = new StakingChain({ validators: [A, B].map((operator) => ({ operator, stake: 100n * COIN })) })
    poor.begin()
    expect(rotate(poor, A, key(9))).toMatch('smaller than')
    const jailed = chain()
    for (let height = 1; height <= 11; height++) jailed.block({ absent: [B] })
    jailed.begin()
    expect(rotate(jailed, B, key(9))).toMatch('validator is jailed')
  })

  it('may follow another one when the unbonding time is over, to the first key when evidence against that is too old', () => {
    const net = chain()
    rotationBlock(net, B, key(9)) // height 1, its time is 400 ms; unbonding is over at 4,400
    for (let height = 2; height <= 10; height++) net.block()
    net.begin() // 11, at 4,400 ms
    expect(rotate(net, B, key(10))).toMatch('max consensus pubkey rotations')
    net.end()
    net.begin()
    expect(rotate(net, B, sha256(B))).toMatch('previously rotated away')
    expect(rotate(net, B, key(10))).toBeUndefined()
    net.end()
    net.check()
    // The first key is locked through 1 + 2 + 15 blocks, although its time is over.
    while (net.height < 18) net.block()
    expect(lockedKeys(net.context.world.native)).toHaveLength(2)
    expect(formerHolderOf(net.context.world.native, addressOfOperator(B))?.operator).toEqual(B)
    net.block()
    net.check()
    expect(lockedKeys(net.context.world.native)).toHaveLength(1)
    while (net.height < 23) net.block()
    rotationBlock(net, B, sha256(B))
    net.block()
    net.block()
    expect(net.validator(B).publicKey).toEqual(sha256(B))
  })

  it('locks both keys for new validators', () => {
    const net = chain()
    rotationBlock(net, B, key(9))
    const creation = (publicKey: Uint8Array) =>
      checkCreation(net.context.world.native, {
        operator: D,
        publicKey,
        commission: { rate: 0n, maxRate: 0n, maxChangeRate: 0n },
      })?.message
    expect(creation(key(9))).toMatch('rotated away')
    expect(creation(sha256(B))).toMatch('rotated away')
    net.block()
    net.block()
    expect(creation(key(9))).toMatch('already exist')
    expect(creation(sha256(B))).toMatch('rotated away')
  })

  it('of a validator that is removed is dropped', () => {
    const net = chain()
    net.begin()
    ok(undelegate(net.context, { delegator: B, operator: B, amount: 100n * COIN - 1n }))
    net.end()
    net.wait(4_000)
    net.block()
    net.block()
    expect(net.validator(B).status).toBe('unbonded')
    rotationBlock(net, B, key(9))
    net.begin()
    ok(undelegate(net.context, { delegator: B, operator: B, amount: 1n }))
    expect(net.validator(B)).toBeUndefined()
    net.end()
    net.check()
    expect(lockedKeys(net.context.world.native).map(({ isToCome }) => isToCome)).toEqual([false])
    net.block()
    net.block()
    net.check()
  })
})

describe('what is kept by consensus address', () => {
  it('rewards go on without a gap', () => {
    const net = chain()
    const other = chain()
    for (let height = 1; height <= 12; height++) {
      for (const one of [net, other]) one.begin({ fees: 1_000n * COIN + BigInt(height) })
      if (height === 4) expect(rotate(net, B, key(9))).toBeUndefined()
      net.check()
      for (const one of [net, other]) one.end()
    }
    const rewardsOf = (one: StakingChain) => accruedRewards(one.context, one.validator(B))
    expect(rewardsOf(net)).toEqual(rewardsOf(other))
    expect(getFeePool(net.context.world.native)).toEqual(getFeePool(other.context.world.native))
  })

  it('missed blocks count on, and jail under the new key; then it can be unjailed', () => {
    const net = chain()
    for (let height = 1; height <= 4; height++) net.block({ absent: [B] })
    const to = addressOf(key(9))
    const before = missedCount(net.context.world.native, addressOfOperator(B))
    expect(before).toBe(3)
    net.begin({ absent: [B] })
    expect(rotate(net, B, key(9))).toBeUndefined()
    net.end()
    for (let height = 6; height <= 10; height++) {
      net.block({ absent: [B] })
      net.check()
    }
    expect(missedCount(net.context.world.native, addressOfOperator(B))).toBe(0)
    expect(missedCount(net.context.world.native, to)).toBe(9)
    expect(signingInfo(net.context, addressOfOperator(B))).toBeUndefined()
    net.block({ absent: [B] })
    expect(net.validator(B)).toMatchObject({ jailed: true, tokens: 99n * COIN })
    net.wait(60_000)
    net.begin()
    expect(unjailValidator(net.context, B)).toBeUndefined()
    net.end()
    expect(net.powers(net.height + 2)).toContainEqual({ address: to, power: 99n })
    net.check()
  })
})

describe('evidence against the old key', () => {
  it.each([6, 7, 8, 12])('in block %i slashes, jails and tombstones', (at) => {
    const net = chain()
    for (let height = 1; height <= 4; height++) net.block()
    rotationBlock(net, B, key(9)) // 5
    while (net.height < at - 1) net.block()
    net.begin({ misbehaviour: [net.doubleSign(B, 4, addressOfOperator(B))] })
    expect(net.validator(B)).toMatchObject({ jailed: true, tokens: 95n * COIN })
    net.end()
    net.check()
    for (let block = 0; block < 4; block++) net.block()
    net.check()
    expect(net.powers(net.height)).toHaveLength(2)
    expect(net.validator(B).publicKey).toEqual(key(9))
    expect(signingInfo(net.context, addressOf(key(9)))).toMatchObject({ tombstoned: true })
    net.begin({ misbehaviour: [net.doubleSign(B, 5, addressOfOperator(B))] })
    expect(net.validator(B).tokens).toBe(95n * COIN)
    expect(unjailValidator(net.context, B)?.message).toMatch('jailed')
    net.end()
    while (net.height < 40) net.block()
    net.check()
    // Nobody can take either key again, however old the evidence is.
    expect(lockedKeys(net.context.world.native)).toEqual([])
    for (const publicKey of [key(9), sha256(B)]) {
      net.begin()
      expect(rotate(net, C, publicKey)).toMatch('already in use')
      net.end()
    }
  })

  it('slashes stake that left since', () => {
    const net = chain()
    for (let height = 1; height <= 4; height++) net.block()
    rotationBlock(net, B, key(9)) // 5
    net.begin()
    ok(undelegate(net.context, { delegator: B, operator: B, amount: 40n * COIN }))
    ok(beginRedelegate(net.context, { delegator: B, source: B, destination: C, amount: 20n * COIN }))
    net.end()
    net.block()
    net.block()
    net.begin({ misbehaviour: [net.doubleSign(B, 5, addressOfOperator(B))] })
    expect(net.validator(B).tokens).toBe(38n * COIN)
    expect(net.validator(C).tokens).toBe(119n * COIN)
    net.check()
    net.end()
    net.check()
  })

  it('has no effect when it is for a key of nobody', () => {
    const net = chain()
    for (let height = 1; height <= 4; height++) net.block()
    rotationBlock(net, B, key(9)) // 5
    while (net.height < 25) net.block()
    const tooLate = { ...net.doubleSign(B, 20), address: addressOfOperator(B) }
    net.begin({ misbehaviour: [tooLate] })
    expect(net.validator(B)).toMatchObject({ jailed: false, tokens: 100n * COIN })
    net.end()
    net.check()
  })
})

describe('the fee parameter', () => {
  it('is one coin where the parameters are older than it, and is not written for them', () => {
    const net = chain()
    const { native } = net.context.world
    const stored = Params.create({ unbondingTime: 1n, maxValidators: 5, maxEntries: 7, bondDenom: 'acoin' })
    const bytes = Params.encode(stored)
    expect(Params.decode(bytes).keyRotationFee).toBeUndefined()
    setStakingParams(native, stored)
    expect(STAKING_PARAMS.get(native)).toEqual({ ...stored, keyRotationFee: { denom: 'acoin', amount: COIN } })
    setStakingParams(native, { ...stored, keyRotationFee: { denom: 'acoin', amount: 7n } })
    expect(STAKING_PARAMS.get(native).keyRotationFee).toEqual({ denom: 'acoin', amount: 7n })
  })

  it.each([
    [{ denom: 'acoin', amount: 0n }, 'must be positive'],
    [{ denom: 'other', amount: 1n }, 'must match bond denom'],
  ])('cannot be %o', (keyRotationFee, problem) => {
    const params = STAKING_PARAMS.get(chain().context.world.native)
    expect(validateStakingParams({ ...params, keyRotationFee })?.message).toMatch(problem)
    expect(validateStakingParams(params)).toBeUndefined()
  })
})

it('holds all invariants under random rotations, stakes, faults and absences', () => {
  const operators = [A, B, C]
  const step = fc.record({
    operator: fc.constantFrom(...operators),
    what: fc.constantFrom('rotate', 'delegate', 'undelegate', 'doubleSign', 'unjail', 'nothing', 'nothing'),
    absent: fc.subarray(operators, { maxLength: 1 }),
    number: fc.integer({ min: 1, max: 60 }),
  })
  const property = fc.property(fc.array(step, { minLength: 30, maxLength: 60 }), (steps) => {
    const net = chain()
    for (const { operator, what, absent, number } of steps) {
      const height = net.height - (number % 12)
      const before = height > 0 ? net.powers(height)[number % net.powers(height).length] : undefined
      const misbehaviour =
        what === 'doubleSign' && number > 50 && before !== undefined
          ? [{ ...net.doubleSign(operator, height, before.address) }]
          : []
      net.begin({ absent, fees: BigInt(number) * COIN, misbehaviour })
      net.check()
      const { context } = net
      const exists = net.validator(operator) !== undefined
      if (what === 'rotate') rotate(net, operator, key(number))
      if (what === 'delegate' && exists) delegate(context, { delegator: D, operator, amount: BigInt(number) * COIN })
      if (what === 'undelegate') undelegate(context, { delegator: D, operator, amount: BigInt(number) * COIN })
      if (what === 'unjail') unjailValidator(context, operator)
      net.check()
      net.end()
      net.check()
      // Consensus never has two keys of one validator, and knows whose each key is.
      const { native } = net.context.world
      const holders = net.powers(net.height + 2).map(({ address }) => bytesToHex(getOperator(native, address)!))
      expect(new Set(holders).size).toBe(holders.length)
    }
  })
  fc.assert(property, { numRuns: runs(20) })
})

it('looks at a former key a few times only where blocks come later than they were planned', () => {
  const net = new StakingChain({ validators: [{ operator: account(1), stake: 10n * COIN }], holders: [account(1)] })
  net.begin()
  const { native } = net.context.world
  const params = CONSENSUS_PARAMS.get(native)
  CONSENSUS_PARAMS.set(native, { ...params, evidence: { ...params.evidence!, maxAgeNumBlocks: 400n } })
  expect(rotateConsensusKey(net.context, { operator: account(1), publicKey: sha256(account(99)) })).toBeUndefined()
  net.end()
  const waiting = () => [...queued(net.context.world.native)].map(({ timeMs }) => timeMs).join()
  let changes = 0
  let blocks = 0
  // Both ages of evidence must be over: 2 seconds, and 400 blocks.
  while (lockedKeys(net.context.world.native).length > 0) {
    const before = waiting()
    net.block()
    if (waiting() !== before) changes++
    expect(++blocks).toBeLessThan(410)
  }
  expect(blocks).toBeGreaterThan(399)
  expect(changes).toBeLessThan(40)
})
