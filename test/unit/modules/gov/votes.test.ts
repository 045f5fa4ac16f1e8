import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { endGov } from '../../../../src/modules/gov/endGov.ts'
import {
  copiedShares,
  getProposalRecord,
  INACTIVE_QUEUE_PREFIX,
  runningTally,
  votesOf,
} from '../../../../src/modules/gov/state.ts'
import { beforeStakeChanges, currentTally } from '../../../../src/modules/gov/tally.ts'
import {
  MsgCancelProposal,
  MsgDeposit,
  MsgVote,
  MsgVoteWeighted,
  PASSED,
  type TallyResult,
  VOTING_PERIOD,
} from '../../../../src/modules/gov/types.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { allDelegations, putDelegation } from '../../../../src/modules/staking/delegations.ts'
import { beginRedelegate, delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { getValidator, putValidator } from '../../../../src/modules/staking/validators.ts'
import { moduleStoreKey } from '../../../../src/modules/storeKey.ts'
import { type Address, toBech32 } from '../../../../src/primitives/address.ts'
import { bigIntToBytes, concatBytes, equalBytes } from '../../../../src/primitives/bytes.ts'
import { formatDecimal, ONE } from '../../../../src/primitives/decimal.ts'
import { runs } from '../../../propertyRuns.ts'
import {
  COIN,
  codeOf,
  GovChain,
  HOLDERS,
  succeeded,
  VALIDATORS,
  VOTING_MS,
} from '../../../support/modules/gov/govChain.ts'

const VOTERS = [...VALIDATORS, ...HOLDERS]

interface Cast {
  readonly voter: number
  readonly options: readonly { readonly option: number; readonly weight: bigint }[]
}

const cast: fc.Arbitrary<Cast> = fc.record({
  voter: fc.nat(VOTERS.length - 1),
  options: fc
    .tuple(
      fc.shuffledSubarray([1, 2, 3, 4], { minLength: 1 }),
      fc.array(fc.bigInt(1n, ONE / 4n), { minLength: 3, maxLength: 3 }),
    )
    .map(([options, parts]) => {
      const weights = parts.slice(0, options.length - 1)
      const rest = ONE - weights.reduce((sum, part) => sum + part, 0n)
      return options.map((option, index) => ({ option, weight: weights[index] ?? rest }))
    }),
})
const STAKE = {
  delegator: fc.nat(VOTERS.length - 1),
  validator: fc.nat(VALIDATORS.length - 1),
  amount: fc.bigInt(1n, 90n * COIN),
}
const stake = fc.record(STAKE)
type Stake = typeof stake extends fc.Arbitrary<infer T> ? T : never
const change = fc.record({ ...STAKE, kind: fc.constantFrom('delegate', 'undelegate', 'redelegate', 'slash') })
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

function addStakes(chain: GovChain, stakes: readonly Stake[]): void {
  for (const { delegator, validator, amount } of stakes) {
    delegate(chain.context, { delegator: VOTERS[delegator]!, operator: VALIDATORS[validator]!, amount })
  }
}

/** Does what can be done; the rest is refused, which is of no interest here. */
function changeStake(chain: GovChain, { kind, delegator, validator, amount }: Change): void {
  const who = VOTERS[delegator]!
  const operator = VALIDATORS[validator]!
  const { context } = chain
  chain.world.checkpoint()
  const done = (() => {
    if (kind === 'delegate') return delegate(context, { delegator: who, operator, amount })
    if (kind === 'undelegate') return undelegate(context, { delegator: who, operator, amount })
    if (kind === 'slash') return lose(chain, operator, amount)
    const destination = VALIDATORS[(validator + 1) % VALIDATORS.length]!
    return beginRedelegate(context, { delegator: who, source: operator, destination, amount })
  })()
  if (codeOf(done as never) === 'no error') chain.world.commit()
  else chain.world.revert()
}

/** A validator loses tokens, as in a slash: its shares are worth less. */
function lose(chain: GovChain, operator: Address, amount: bigint): void {
  const validator = getValidator(chain.native, operator)!
  const lost = amount % (validator.tokens / 2n + 1n)
  putValidator(chain.native, { ...validator, tokens: validator.tokens - lost })
  chain.world.subBalance(BONDED_POOL, lost)
}

function castVotes(chain: GovChain, id: bigint, casts: readonly Cast[]): void {
  for (const { voter, options } of casts) {
    succeeded(
      chain.send(MsgVoteWeighted, {
        proposalId: id,
        voter: toBech32(VOTERS[voter]!),
        options: options.map(({ option, weight }) => ({ option, weight: formatDecimal(weight) })),
      }),
    )
  }
}

/** Votes as one would count them by hand: exact fractions of acoin, rounded down at the end. */
function expectedResult(chain: GovChain, casts: readonly Cast[]): readonly number[] {
  const last = new Map(casts.map(({ voter, options }) => [voter, options]))
  const sums = [0, 0, 0, 0, 0]
  for (const { delegator, operator, shares } of allDelegations(chain.native)) {
    const { tokens, delegatorShares } = getValidator(chain.native, operator)!
    const own = VOTERS.findIndex((voter) => equalBytes(voter, delegator))
    const options =
      last.get(own) ?? last.get(VALIDATORS.findIndex((validator) => equalBytes(validator, operator))) ?? []
    for (const { option, weight } of options) {
      sums[option]! += (Number(shares) / Number(delegatorShares)) * Number(tokens) * (Number(weight) / Number(ONE))
    }
  }
  return sums.slice(1)
}

function counts({ yesCount, abstainCount, noCount, noWithVetoCount }: TallyResult): readonly number[] {
  return [yesCount, abstainCount, noCount, noWithVetoCount].map(Number)
}

describe('a tally', () => {
  it("counts delegators' own votes instead of their validators'", () => {
    fc.assert(
      fc.property(fc.array(stake, { maxLength: 10 }), fc.array(cast, { maxLength: 10 }), (stakes, casts) => {
        const chain = new GovChain()
        addStakes(chain, stakes)
        const id = chain.propose()
        castVotes(chain, id, casts)
        const expected = expectedResult(chain, casts)
        const running = currentTally(chain.context, id)!
        expect([...votesOf(chain.native, id)]).toHaveLength(new Set(casts.map(({ voter }) => voter)).size)
        chain.endBlock(VOTING_MS)
        const result = chain.proposal(id).finalTallyResult!
        expect(result).toEqual(running)
        counts(result).forEach((count, index) => {
          expect(Math.abs(count - expected[index]!)).toBeLessThan(1e-9 * 1e21)
        })
        expect(chain.problems()).toEqual([])
      }),
      { numRuns: runs(25) },
    )
  })

  it('counts the powers of the block in which it began, of several proposals one after the other', () => {
    let blocks = 0
    let copies = 0
    fc.assert(
      fc.property(
        fc.array(stake, { maxLength: 8 }),
        fc.array(fc.array(cast, { minLength: 1, maxLength: 10 }), { minLength: 1, maxLength: 3 }),
        fc.array(fc.array(change, { maxLength: 5 }), { maxLength: 12 }),
        fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 60_000 })),
        (stakes, castsOf, changes, limit) => {
          const chain = new GovChain()
          addStakes(chain, stakes)
          const ids = castsOf.map(() => chain.propose())
          for (const [index, casts] of castsOf.entries()) castVotes(chain, ids[index]!, casts)
          chain.passTime(VOTING_MS)
          const expected = new Map<bigint, TallyResult>()
          const isOpen = (id: bigint) => getProposalRecord(chain.native, id)!.status === VOTING_PERIOD
          for (let block = 0; ids.some(isOpen); block++) {
            // Each block counts a delegation at least.
            expect(block).toBeLessThan(200)
            // What would be counted if all tallies were done in this block, by the code and by hand.
            const atOnce = ids.map((id) => currentTally(chain.context, id)!)
            const byHand = castsOf.map((casts) => expectedResult(chain, casts))
            const waiting = ids.filter((id) => isOpen(id) && runningTally(chain.native)?.proposalId !== id)
            endGov(chain.context, MESSAGES, limit)
            blocks++
            for (const [index, id] of ids.entries()) {
              const hasBegun = !isOpen(id) || runningTally(chain.native)?.proposalId === id
              if (!waiting.includes(id) || !hasBegun) continue
              expected.set(id, atOnce[index]!)
              counts(atOnce[index]!).forEach((count, option) => {
                expect(Math.abs(count - byHand[index]![option]!)).toBeLessThan(1e-9 * 1e21)
              })
            }
            for (const next of changes[block] ?? []) changeStake(chain, next)
            copies += ids.flatMap((id) => [...copiedShares(chain.native, id)]).length
            for (const id of ids)
              if (expected.has(id)) expect(currentTally(chain.context, id)).toEqual(expected.get(id))
            expect(chain.problems()).toEqual([])
          }
          expect(ids.map((id) => chain.proposal(id).finalTallyResult)).toEqual(ids.map((id) => expected.get(id)))
          expect(runningTally(chain.native)).toBeUndefined()
          expect(ids.flatMap((id) => [...copiedShares(chain.native, id)])).toEqual([])
          for (let block = 0; ids.some((id) => [...votesOf(chain.native, id)].length > 0); block++) {
            expect(block).toBeLessThan(40)
            endGov(chain.context, MESSAGES, limit)
          }
        },
      ),
      { numRuns: runs(30) },
    )
    expect(blocks).toBeGreaterThan(200)
    expect(copies).toBeGreaterThan(20)
  })

  it('counts each delegation once that changes while its voter is being counted', () => {
    const chain = new GovChain()
    const voter = 5
    addStakes(
      chain,
      VALIDATORS.map((_, validator) => ({ delegator: voter, validator, amount: 10n * COIN })),
    )
    const id = chain.propose()
    castVotes(chain, id, [{ voter, options: [{ option: 1, weight: ONE }] }])
    const expected = currentTally(chain.context, id)
    expect(expected?.yesCount).toBe((30n * COIN).toString())
    chain.passTime(VOTING_MS)
    let insideVoter = 0
    while (chain.proposal(id).status === VOTING_PERIOD) {
      endGov(chain.context, MESSAGES, 1)
      if ((runningTally(chain.native)?.operator.length ?? 0) > 0) insideVoter++
      for (const operator of VALIDATORS) {
        succeeded(delegate(chain.context, { delegator: VOTERS[voter]!, operator, amount: COIN }))
      }
      expect(currentTally(chain.context, id)).toEqual(expected)
      expect(chain.problems()).toEqual([])
    }
    expect(insideVoter).toBeGreaterThan(2)
    expect([...copiedShares(chain.native, id)]).toEqual([])
  })

  it.each([
    ['its counts', 'gov', Uint8Array.of(0x06)],
    ['its proposal', 'gov', concatBytes(Uint8Array.of(0), bigIntToBytes(1n, 8))],
  ] as const)('that is left alone because %s cannot be read leaves no copied shares', (_, module, key) => {
    const chain = new GovChain()
    const voter = 3
    addStakes(
      chain,
      VALIDATORS.map((_each, validator) => ({ delegator: voter, validator, amount: 10n * COIN })),
    )
    const id = chain.propose()
    for (const each of [0, 1, 2, 3, 4]) castVotes(chain, id, [{ voter: each, options: [{ option: 1, weight: ONE }] }])
    chain.passTime(VOTING_MS)
    endGov(chain.context, MESSAGES, 1)
    for (const operator of VALIDATORS) {
      succeeded(delegate(chain.context, { delegator: VOTERS[voter]!, operator, amount: COIN }))
    }
    const copies = () => [...copiedShares(chain.native, id)].length
    expect(copies()).toBe(VALIDATORS.length)
    chain.native.set(moduleStoreKey(module, key), Uint8Array.of(0xff))
    const left: number[] = []
    for (let block = 0; block < 6; block++) {
      endGov(chain.context, MESSAGES, 1)
      left.push(copies())
    }
    expect(runningTally(chain.native)).toBeUndefined()
    // One in a block where the budget is spent.
    expect(left).toEqual([3, 2, 1, 0, 0, 0])
    expect([...chain.native.range(INACTIVE_QUEUE_PREFIX)]).toEqual([])
  })

  it('takes nothing more once it began', () => {
    const chain = new GovChain()
    const id = chain.propose()
    const voters = VALIDATORS.map((address) => toBech32(address))
    for (const voter of voters) succeeded(chain.send(MsgVote, { proposalId: id, voter, option: 1 }))
    chain.passTime(VOTING_MS)
    endGov(chain.context, MESSAGES, 1)
    expect(chain.proposal(id).status).toBe(VOTING_PERIOD)
    expect(runningTally(chain.native)?.proposalId).toBe(id)
    expectClosed(chain, id)
    for (let block = 0; block < 12; block++) endGov(chain.context, MESSAGES, 1)
    expect(chain.proposal(id)).toMatchObject({
      status: PASSED,
      finalTallyResult: { yesCount: (200n * COIN).toString() },
    })
  })

  it('takes nothing more while it waits for another one', () => {
    const chain = new GovChain()
    const first = chain.propose()
    const second = chain.propose()
    for (const voter of VALIDATORS) {
      succeeded(chain.send(MsgVote, { proposalId: first, voter: toBech32(voter), option: 1 }))
    }
    chain.passTime(VOTING_MS)
    // In the block in which its period ends it is open until the end.
    succeeded(chain.send(MsgVote, { proposalId: second, voter: toBech32(VALIDATORS[0]), option: 3 }))
    endGov(chain.context, MESSAGES, 1)
    chain.passTime(400)
    expect(runningTally(chain.native)?.proposalId).toBe(first)
    expectClosed(chain, second)
  })

  /** What the first voter of a voter, the first depositor and the proposer send is refused. */
  function expectClosed(chain: GovChain, id: bigint): void {
    expect(codeOf(chain.send(MsgVote, { proposalId: id, voter: toBech32(VALIDATORS[0]), option: 3 }))).toBe('gov/3')
    const deposit = { proposalId: id, depositor: toBech32(HOLDERS[1]!), amount: coinsOf(COIN) }
    expect(codeOf(chain.send(MsgDeposit, deposit))).toBe('gov/3')
    const cancel = { proposalId: id, proposer: toBech32(HOLDERS[0]!) }
    expect(codeOf(chain.send(MsgCancelProposal, cancel))).toBe('gov/20')
  }

  it('leaves a validator out that nobody has delegated to any more, although it is bonded until the end of the block', () => {
    const chain = new GovChain()
    const id = chain.propose()
    for (const voter of VALIDATORS) {
      succeeded(chain.send(MsgVote, { proposalId: id, voter: toBech32(voter), option: 1 }))
    }
    chain.passTime(VOTING_MS - 1)
    const [delegator] = VALIDATORS
    succeeded(undelegate(chain.context, { delegator, operator: delegator, amount: 100n * COIN }))
    expect(getValidator(chain.native, delegator)).toMatchObject({ status: 'bonded', jailed: true, delegatorShares: 0n })
    chain.endBlock(1)
    const yesCount = (100n * COIN).toString()
    expect(chain.proposal(id)).toMatchObject({ status: PASSED, finalTallyResult: { yesCount } })
  })

  it('gives deposits back over blocks when there are many', () => {
    const chain = new GovChain()
    const id = chain.propose()
    for (const holder of HOLDERS) {
      succeeded(chain.send(MsgDeposit, { proposalId: id, depositor: toBech32(holder), amount: coinsOf(COIN) }))
    }
    chain.passTime(VOTING_MS)
    const balances = () =>
      HOLDERS.map((holder) => chain.world.getBalance(holder)).filter((balance) => balance === 1_000n * COIN)
    const returned: number[] = []
    for (let block = 0; block < 6; block++) {
      endGov(chain.context, MESSAGES, 30_000)
      returned.push(balances().length)
      expect(chain.problems()).toEqual([])
    }
    expect(returned[0]).toBeLessThan(5)
    expect(returned.at(-1)).toBe(5)
    expect(returned).toEqual([...returned].sort((a, b) => a - b))
  })

  it('of a voter with many delegations takes many blocks, each with a bounded amount of work', () => {
    const chain = new GovChain()
    const voter = HOLDERS[2]!
    stakeWidely(chain, voter, 5_000)
    addStakes(chain, [{ delegator: 5, validator: 1, amount: COIN }])
    const id = chain.propose()
    castVotes(chain, id, [{ voter: 5, options: [{ option: 1, weight: ONE }] }])
    const expected = currentTally(chain.context, id)
    expect(expected?.yesCount).toBe(COIN.toString())
    chain.passTime(VOTING_MS)
    let blocks = 0
    for (; chain.proposal(id).status === VOTING_PERIOD; blocks++) {
      const before = chain.native.work.done
      endGov(chain.context, MESSAGES)
      expect(chain.native.work.done - before).toBeLessThan(2_100_000)
    }
    expect(blocks).toBeGreaterThan(2)
    expect(chain.proposal(id).finalTallyResult).toEqual(expected)
  })

  it('costs a change of stake the same, however many delegations its voters have', () => {
    const costs = [1, 2_000].map((delegations) => {
      const chain = new GovChain()
      const voter = HOLDERS[4]!
      stakeWidely(chain, voter, delegations)
      addStakes(chain, [{ delegator: 7, validator: 1, amount: COIN }])
      const id = chain.propose()
      for (const first of VALIDATORS) {
        succeeded(chain.send(MsgVote, { proposalId: id, voter: toBech32(first), option: 1 }))
      }
      castVotes(chain, id, [{ voter: 7, options: [{ option: 2, weight: ONE }] }])
      chain.passTime(VOTING_MS)
      endGov(chain.context, MESSAGES, 1)
      expect(runningTally(chain.native)?.proposalId).toBe(id)
      return [VALIDATORS[1], VALIDATORS[1], VALIDATORS[2]].map((operator) => {
        const before = chain.native.work.done
        beforeStakeChanges(chain.context, voter, operator)
        return chain.native.work.done - before
      })
    })
    const [first, again, other] = costs[0]!
    expect(costs[1]).toEqual(costs[0])
    expect(first).toBeLessThan(6_000)
    expect(again).toBeLessThan(2_500)
    expect(other).toBeLessThan(6_000)
  })

  it('stops at the gas of who asks for it', () => {
    const chain = new GovChain()
    stakeWidely(chain, HOLDERS[0]!, 100)
    const id = chain.propose()
    castVotes(chain, id, [{ voter: 3, options: [{ option: 1, weight: ONE }] }])
    const run = (limit: bigint) => chain.native.work.limited(limit, () => currentTally(chain.context, id)).kind
    expect(run(50_000n)).toBe('exceeded')
    expect(run(200_000n)).toBe('done')
    expect(currentTally(chain.context, 99n)).toBeUndefined()
    expect(currentTally(chain.context, chain.propose({ initialDeposit: coinsOf(COIN) }))?.yesCount).toBe('0')
  })
})

/** Delegations to validators that do not exist, which only cost work. */
function stakeWidely(chain: GovChain, delegator: Address, count: number): void {
  for (let index = 0; index < count; index++) {
    const operator = new Uint8Array(20).fill(0x50)
    new DataView(operator.buffer).setUint32(1, index)
    putDelegation(chain.native, { delegator, operator, shares: ONE })
  }
}
