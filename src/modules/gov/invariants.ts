import { BASE_DENOM } from '../coin.ts'
import type { ReadContext } from '../context.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
import { depositsHeld, totalOf } from './deposits.ts'
import { DEPOSITS_PREFIX, PROPOSALS_PREFIX } from './keys.ts'
import { DEPOSIT_PERIOD, Deposit, Proposal, VOTING_PERIOD } from './types.ts'

/**
 * What must hold of governance in every state: its account holds at least all deposits (ModuleAccountInvariant of
 * x/gov/keeper/invariants.go; others may have sent it coins), their kept sum is right, and an open proposal's total is
 * the sum of its deposits. For tests and `coind debug invariants`: it reads every deposit.
 * @returns what does not hold
 */
export function* govInvariants({ world }: Pick<ReadContext, 'world'>): IterableIterator<string> {
  const byProposal = new Map<bigint, bigint>()
  let sum = 0n
  for (const [, value] of world.native.range(DEPOSITS_PREFIX)) {
    const { proposalId, depositor, amount } = Deposit.decode(value)
    const acoin = totalOf(amount)
    if (acoin < 0n) yield `gov: the deposit of ${depositor} on proposal ${proposalId} is negative`
    byProposal.set(proposalId, (byProposal.get(proposalId) ?? 0n) + acoin)
    sum += acoin
  }
  const held = depositsHeld(world.native)
  if (held !== sum) yield `gov: deposits are ${sum}${BASE_DENOM}, but ${held} are counted`
  const balance = world.getBalance(GOVERNANCE)
  if (balance < sum) yield `gov: the account holds ${balance}${BASE_DENOM} of ${sum} that are deposits`
  for (const [, value] of world.native.range(PROPOSALS_PREFIX)) {
    const { id, status, totalDeposit } = Proposal.decode(value)
    if (status !== DEPOSIT_PERIOD && status !== VOTING_PERIOD) continue
    const total = totalOf(totalDeposit)
    const deposited = byProposal.get(id) ?? 0n
    if (total !== deposited) yield `gov: proposal ${id} has deposits of ${deposited}, but says ${total}`
  }
}
