import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { bigIntToMinimalBytes, bytesToBigInt } from '../../primitives/bytes.ts'
import { sendCoins } from '../bank/send.ts'
import { acoinOf, areValidCoins, BASE_DENOM, type Coin, coinsOf, coinsText } from '../coin.ts'
import type { ModuleContext, ReadContext } from '../context.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { govError } from './errors.ts'
import { emitDeposit, emitVotingStarted } from './events.ts'
import { activeQueueKey, DEPOSITS_HELD_KEY, depositKey, depositsKey, inactiveQueueKey } from './keys.ts'
import { GOV_PARAMS, minDepositAcoin, minSingleDepositAcoin, periodMs } from './params.ts'
import { getProposal, nanosOf, proposalTimeMs, putProposal } from './proposals.ts'
import { getTally } from './tallyState.ts'
import { DEPOSIT_PERIOD, Deposit, type Proposal, VOTING_PERIOD } from './types.ts'

type Native = ReadContext['world']['native']

export interface DepositInput {
  readonly proposalId: bigint
  readonly depositor: Address
  readonly amount: readonly Coin[]
}

/** Adds to a proposal's deposit (MsgDeposit); its vote starts when there is enough. */
export function deposit(context: ModuleContext, { proposalId, depositor, amount }: DepositInput): SdkError | undefined {
  const invalid = checkAmount(amount)
  if (invalid !== undefined) return invalid
  const started = addDeposit(context, { proposalId, depositor, amount })
  if (isSdkError(started)) return started
  if (started) emitVotingStarted(context.world, 'proposal_deposit', proposalId)
  return undefined
}

/**
 * The same without the check of the coins and the last event, as a new proposal's own deposit comes
 * (AddDeposit of x/gov/keeper/deposit.go).
 * @returns whether the vote started
 */
export function addDeposit(context: ModuleContext, { proposalId, depositor, amount }: DepositInput): Outcome<boolean> {
  const { world } = context
  const { native } = world
  const proposal = getProposal(native, proposalId)
  if (proposal === undefined) return proposalNotFound(proposalId)
  const isOpen = proposal.status === DEPOSIT_PERIOD || proposal.status === VOTING_PERIOD
  if (!isOpen || getTally(native, proposalId) !== undefined) return govError('inactiveProposal', proposalId.toString())
  const params = GOV_PARAMS.get(native)
  const acoin = acoinOf(amount)
  if (acoin === undefined) return wrongDenomination(amount)
  const least = minSingleDepositAcoin(params, proposal.expedited)
  if (acoin < least) {
    return govError(
      'depositTooSmall',
      `received ${coinsText(amount)} but need at least one of the following: ${least}${BASE_DENOM}`,
    )
  }
  const sent = sendCoins(context, depositor, GOVERNANCE, acoin)
  if (sent !== undefined) return sent
  changeDepositsHeld(native, acoin)
  const total = totalOf(proposal.totalDeposit) + acoin
  const updated: Proposal = { ...proposal, totalDeposit: coinsOf(total) }
  const starts = proposal.status === DEPOSIT_PERIOD && total >= minDepositAcoin(params, proposal.expedited)
  if (starts) startVote(context, updated)
  else putProposal(native, updated)
  const before = getDeposit(native, proposalId, depositor)
  putDeposit(native, {
    proposalId,
    depositor: toBech32(depositor),
    amount: coinsOf(totalOf(before?.amount ?? []) + acoin),
  })
  emitDeposit(world, proposalId, depositor, amount)
  return starts
}

/** A deposit's coins; those of a new proposal may be none. */
export function checkAmount(amount: readonly Coin[]): SdkError | undefined {
  return amount.length === 0 ? sdkError('invalidCoins') : checkInitialAmount(amount)
}

export function checkInitialAmount(amount: readonly Coin[]): SdkError | undefined {
  return areValidCoins(amount) ? undefined : sdkError('invalidCoins', coinsText(amount))
}

/** What a deposit in another denomination than governance takes is refused with. */
export function wrongDenomination(amount: readonly Coin[]): SdkError {
  return govError(
    'invalidDepositDenom',
    `deposited ${coinsText(amount)}, but gov accepts only the following denom(s): [${BASE_DENOM}]`,
  )
}

export function proposalNotFound(id: bigint): SdkError {
  return sdkError('notFound', `proposal ${id} doesn't exist`)
}

export function getDeposit(native: Pick<Native, 'get'>, id: bigint, depositor: Address): Deposit | undefined {
  const value = native.get(depositKey(id, depositor))
  return value && Deposit.decode(value)
}

/** Deposits of a proposal in order of depositors; `start`: the first of them. */
export function* depositsOf(
  native: Pick<Native, 'range'>,
  id: bigint,
  options: { readonly start?: Address; readonly reverse?: boolean } = {},
): IterableIterator<Deposit> {
  const { start, reverse = false } = options
  const range = { reverse, ...(start && { start: depositKey(id, start) }) }
  for (const [, value] of native.range(depositsKey(id), range)) yield Deposit.decode(value)
}

function putDeposit(native: Pick<ModuleContext['world']['native'], 'set'>, deposited: Deposit): void {
  const key = depositKey(deposited.proposalId, parseAddress(deposited.depositor))
  native.set(key, Deposit.encode(deposited))
}

/**
 * Sum of all deposits, acoin: the governance account never holds less (see `executeProposal`). Kept beside the deposits, so that
 * asking for it costs one look-up.
 */
export function depositsHeld(native: Pick<Native, 'get'>): bigint {
  const value = native.get(DEPOSITS_HELD_KEY)
  return value === undefined ? 0n : bytesToBigInt(value)
}

export function changeDepositsHeld(native: ModuleContext['world']['native'], change: bigint): void {
  const held = depositsHeld(native) + change
  if (held < 0n) throw new Error('more deposits were given back than there were')
  if (held === 0n) native.delete(DEPOSITS_HELD_KEY)
  else native.set(DEPOSITS_HELD_KEY, bigIntToMinimalBytes(held))
}

/** Acoin of a stored deposit. */
export function totalOf(coins: readonly Coin[]): bigint {
  return coins.reduce((sum, { amount }) => sum + amount, 0n)
}

/** ActivateVotingPeriod of x/gov/keeper/proposal.go. */
function startVote({ world: { native }, block }: ModuleContext, proposal: Proposal): void {
  const params = GOV_PARAMS.get(native)
  const endMs = block.timeMs + periodMs(proposal.expedited ? params.expeditedVotingPeriod : params.votingPeriod)
  putProposal(native, {
    ...proposal,
    status: VOTING_PERIOD,
    votingStartTime: nanosOf(block.timeMs),
    votingEndTime: nanosOf(endMs),
  })
  native.delete(inactiveQueueKey(proposalTimeMs(proposal.depositEndTime), proposal.id))
  native.set(activeQueueKey(endMs, proposal.id), Uint8Array.of(1))
}
