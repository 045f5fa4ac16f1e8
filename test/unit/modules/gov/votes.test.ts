import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { endGov } from '../../../../src/modules/gov/endGov.ts'
import { getTally, votesOf } from '../../../../src/modules/gov/state.ts'
import {
  MsgCancelProposal,
  MsgDeposit,
  MsgVote,
  MsgVoteWeighted,
  PASSED,
  type TallyResult,
  VOTING_PERIOD,
} from '../../../../src/modules/gov/types.ts'
import { runningTally } from '../../../../src/modules/gov/votes.ts'
import { MESSAGES } from '../../../../src/modules/messages.ts'
import { BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { allDelegations, delegationsOf } from '../../../../src/modules/staking/delegations.ts'
import { beginRedelegate, delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { getValidator, putValidator } from '../../../../src/modules/staking/validators.ts'
import { type Address, toBech32 } from '../../../../src/primitives/address.ts'
import { equalBytes } from '../../../../src/primitives/bytes.ts'
import { formatDecimal, ONE } from '../../../../src/primitives/decimal.ts'
import { runs } from '../../../propertyRuns.ts'
import { COIN, codeOf, GovChain, HOLDERS, succeeded, VALIDATORS, VOTING_MS } from './govChain.ts'

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
        const running = runningTally(chain.context, id)!
        expect([...votesOf(chain.native, id)]).toHaveLength(new Set(casts.map(({ voter }) => voter)).size)
        chain.endBlock(VOTING_MS)
        const result = chain.proposal(id).finalTallyResult!
        expect(result).toEqual(running)
        counts(result).forEach((count, index) => {
          expect(Math.abs(count - expected[index]!)).toBeLessThan(1e-9 * 1e21)
        })
        expect(chain.problems()).toEqual([])
      }),
      { numRuns: runs(40) },
    )
  })

  it('that goes on over blocks counts the powers of the block in which it began', () => {
    fc.assert(
      fc.property(
        fc.array(stake, { maxLength: 8 }),
        fc.array(cast, { minLength: 1, maxLength: 10 }),
        fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 6 }),
        fc.integer({ min: 2, max: 6 }),
        (stakes, casts, changes, limit) => {
          const chain = new GovChain()
          addStakes(chain, stakes)
          const id = chain.propose()
          castVotes(chain, id, casts)
          const expected = runningTally(chain.context, id)
          chain.passTime(VOTING_MS)
          let block = 0
          for (; chain.proposal(id).status === VOTING_PERIOD; block++) {
            // One vote is counted at least, so that it ends.
            expect(block).toBeLessThan(30)
            endGov(chain.context, MESSAGES, limit)
            for (const next of changes[block] ?? []) changeStake(chain, next)
            if (chain.proposal(id).status === VOTING_PERIOD) expect(runningTally(chain.context, id)).toEqual(expected)
          }
          expect(chain.proposal(id).finalTallyResult).toEqual(expected)
          expect(getTally(chain.native, id)).toBeUndefined()
          for (; [...votesOf(chain.native, id)].length > 0 || chain.problems().length > 0; block++) {
            expect(block).toBeLessThan(40)
            endGov(chain.context, MESSAGES, limit)
          }
        },
      ),
      { numRuns: runs(60) },
    )
  })

  it('takes nothing more once it began', () => {
    const chain = new GovChain()
    const id = chain.propose()
    const voters = VALIDATORS.map((address) => toBech32(address))
    for (const voter of voters) succeeded(chain.send(MsgVote, { proposalId: id, voter, option: 1 }))
    chain.passTime(VOTING_MS)
    endGov(chain.context, MESSAGES, 3)
    expect(chain.proposal(id).status).toBe(VOTING_PERIOD)
    expect(getTally(chain.native, id)).toBeDefined()
    expect(codeOf(chain.send(MsgVote, { proposalId: id, voter: voters[0]!, option: 3 }))).toBe('gov/3')
    const deposit = { proposalId: id, depositor: toBech32(HOLDERS[1]!), amount: coinsOf(COIN) }
    expect(codeOf(chain.send(MsgDeposit, deposit))).toBe('gov/3')
    const cancel = { proposalId: id, proposer: toBech32(HOLDERS[0]!) }
    expect(codeOf(chain.send(MsgCancelProposal, cancel))).toBe('gov/20')
    for (let block = 0; block < 5; block++) endGov(chain.context, MESSAGES, 3)
    expect(chain.proposal(id)).toMatchObject({
      status: PASSED,
      finalTallyResult: { yesCount: (200n * COIN).toString() },
    })
  })

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
      endGov(chain.context, MESSAGES, 3)
      returned.push(balances().length)
      expect(chain.problems()).toEqual([])
    }
    expect(returned[0]).toBeLessThan(5)
    expect(returned.at(-1)).toBe(5)
    expect(returned).toEqual([...returned].sort((a, b) => a - b))
  })

  it('costs no more than what is charged for', () => {
    const chain = new GovChain()
    addStakes(chain, [
      { delegator: 3, validator: 0, amount: COIN },
      { delegator: 3, validator: 1, amount: COIN },
    ])
    const id = chain.propose()
    castVotes(chain, id, [{ voter: 3, options: [{ option: 1, weight: ONE }] }])
    expect([...delegationsOf(chain.native, VOTERS[3]!)]).toHaveLength(2)
    const runWith = (limit: number) => {
      let left = limit
      return runningTally(chain.context, id, (units) => {
        left -= units
        return left >= 0
      })
    }
    expect([2, 3].map((limit) => runWith(limit)?.yesCount)).toEqual([undefined, (2n * COIN).toString()])
    expect(runningTally(chain.context, 99n)).toBeUndefined()
    expect(runningTally(chain.context, chain.propose({ initialDeposit: coinsOf(COIN) }))?.yesCount).toBe('0')
  })
})
