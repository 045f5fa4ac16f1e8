import { nextBaseFee } from '../chain/block/baseFee.ts'
import { codeDelegationTarget } from '../evm/authorization.ts'
import type { AccountState, PoolHeadUpdate } from '../mempool/types.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../primitives/hash.ts'
import type { Account, StateReader } from '../state/reader.ts'
import type { ChainHead } from './chainHead.ts'
import type { EntryResult, ExecutedBlock } from './executedBlock.ts'

/** One or, in catch-up, several blocks that become visible to other threads together. */
export interface HeadEvent {
  /** the newest block */
  readonly head: ChainHead
  /** this and the fields below cover all of them */
  readonly update: PoolHeadUpdate
  /** EVM gas */
  readonly gasUsed: bigint
  /** pieces of evidence */
  readonly evidenceCount: number
}

/** Merges several events into one, oldest first. */
export function mergeHeadEvents(headEvents: readonly HeadEvent[]): HeadEvent {
  return {
    head: headEvents.at(-1)!.head,
    update: mergePoolUpdates(headEvents.map(({ update }) => update)),
    gasUsed: headEvents.reduce((sum, { gasUsed }) => sum + gasUsed, 0n),
    evidenceCount: headEvents.reduce((sum, { evidenceCount }) => sum + evidenceCount, 0),
  }
}

/** Returns the facts about an executed block that the mempool needs. */
export function poolUpdate(
  { header, results, changes, nextParams, vesting }: ExecutedBlock,
  reader: Pick<StateReader, 'getCode'>,
): PoolHeadUpdate {
  return {
    height: header.number,
    baseFeePerGas: nextBaseFee(header, nextParams.feeMarket),
    minimumBaseFee: nextParams.feeMarket.minimumBaseFee,
    gasLimit: nextParams.blockGasLimit,
    accounts: changes.accounts.map(({ address, current }): readonly [Address, AccountState] => [
      address,
      accountState(current, reader, vesting.size === 0 ? undefined : vesting.get(bytesKey(address))),
    ]),
    included: results.flatMap(startedHash),
  }
}

/** A skipped transaction stays in the pool: it may start later. */
function startedHash(result: EntryResult): readonly Hash[] {
  if (result.kind === 'skipped') return []
  return [result.kind === 'evm' ? result.signed.transaction.hash : result.transaction.hash]
}

/** Returns one update for several, oldest first. */
export function mergePoolUpdates(updates: readonly PoolHeadUpdate[]): PoolHeadUpdate {
  const accounts = new Map<string, readonly [Address, AccountState]>()
  for (const update of updates) for (const entry of update.accounts) accounts.set(bytesKey(entry[0]), entry)
  return {
    ...updates.at(-1)!,
    accounts: [...accounts.values()],
    included: updates.flatMap(({ included }) => included),
  }
}

/**
 * Returns the parts of an account that the mempool checks.
 * @param spendable acoin that it may spend, if it is a vesting account
 */
export function accountState(
  account: Account | undefined,
  reader: Pick<StateReader, 'getCode'>,
  spendable?: bigint,
): AccountState {
  const isVesting = spendable === undefined ? {} : { isVesting: true }
  if (account === undefined) return { nonce: 0n, balance: 0n, code: 'none', ...isVesting }
  const { nonce, codeHash } = account
  const balance = spendable ?? account.balance
  if (equalBytes(codeHash, EMPTY_CODE_HASH)) return { nonce, balance, code: 'none', ...isVesting }
  const code = codeDelegationTarget(reader.getCode(codeHash)) === undefined ? 'contract' : 'delegation'
  return { nonce, balance, code, ...isVesting }
}
