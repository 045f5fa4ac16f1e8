import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { decodeError, decodeInput } from '../abi/decode.ts'
import {
  type Call,
  type StateChanges,
  stateChangesQuery,
  type TraceState,
  type TransactionDetail,
  transactionCallsQuery,
  transactionLogsQuery,
} from '../api.ts'
import { formatNumber } from '../format.ts'
import { useInterface } from '../verificationApi.ts'
import { Amount } from './Amount.tsx'
import { Note } from './Card.tsx'
import { Data } from './Data.tsx'
import { DecodedFields } from './DecodedCall.tsx'
import { LogList } from './Logs.tsx'
import { AddressLink } from './Names.tsx'

/* What an EVM transaction did, for the tabs of its page. */

/** Why calls, or changes of the state, are not there or not all. */
const STATES: Readonly<Partial<Record<TraceState, string>>> = {
  none: 'This transaction moved coins and ran no code.',
  cut: 'The list is too long to show in full: the rest is left out.',
  notKept: 'Not available: the node no longer had the state before this transaction.',
  refused: 'The node did not trace this transaction: the trace is too large or takes too long.',
  unsupported: 'The node does not trace transactions.',
}

/** The input of a transaction, by its names where they are known. */
export function InputData({ input, to }: { readonly input: string; readonly to: string | null }) {
  const own = useInterface(to)
  const decoded = to === null ? undefined : decodeInput(input, to, own?.abi)
  return (
    <>
      {decoded !== undefined && <DecodedFields decoded={decoded} />}
      <Data>{input}</Data>
    </>
  )
}

export function TransactionLogs({ hash }: { readonly hash: string }) {
  const { data, error, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery(transactionLogsQuery(hash))
  if (error !== null) return <Note>{error.message}</Note>
  if (data === undefined) return <Note>Loading …</Note>
  const logs = data.pages.flatMap(({ items }) => items)
  return (
    <>
      {logs.length === 0 ? <Note>This transaction emitted no logs.</Note> : <LogList logs={logs} isOfTransaction />}
      {hasNextPage && <More isFetching={isFetching} onMore={() => void fetchNextPage()} />}
    </>
  )
}

/** The tree of a transaction's calls. */
export function TransactionCalls({ transaction }: { readonly transaction: TransactionDetail }) {
  const { hash } = transaction
  const { data, error, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery(transactionCallsQuery(hash))
  if (error !== null) return <Note>{error.message}</Note>
  if (data === undefined) return <Note>Loading …</Note>
  const note = STATES[data.pages[0]!.state]
  const calls = data.pages.flatMap(({ items }) => items)
  const { input } = transaction.detail as { readonly input: string }
  return (
    <>
      {note !== undefined && <Note>{note}</Note>}
      <ol className="calls">
        {calls.map((call) => (
          <CallEntry key={call.ordinal} call={call.ordinal === 0 ? { ...call, input } : call} />
        ))}
      </ol>
      {hasNextPage && <More isFetching={isFetching} onMore={() => void fetchNextPage()} />}
    </>
  )
}

/** Deeper calls are not indented further, because a screen is only so wide. */
const MAX_INDENT = 10
const INDENT_REM = 0.9

function CallEntry({ call }: { readonly call: Call }) {
  const { depth, kind, from, to, value, gasUsed, input, inputSize, output, error, isSuccessful } = call
  const isCreation = kind === 'create' || kind === 'create2'
  const isWhole = input.length / 2 - 1 === inputSize
  const own = useInterface(to)
  const decoded = isWhole && !isCreation ? decodeInput(input, to, own?.abi) : undefined
  const reason = error === null ? undefined : decodeError(output, to, own?.abi)
  return (
    <li
      className={isSuccessful ? undefined : 'failed'}
      style={{ marginInlineStart: `${Math.min(depth, MAX_INDENT) * INDENT_REM}rem` }}
      aria-label={`depth ${depth}`}
    >
      <p>
        <span className="tag evm">{kind}</span> <AddressLink address={from} /> →{' '}
        {to === null ? '–' : <AddressLink address={to} />}
        {value !== '0' && (
          <>
            {' '}
            <Amount acoin={value} digits={18} />
          </>
        )}{' '}
        <span className="quiet">{formatNumber(gasUsed)} gas</span>
        {error !== null && <span className="bad"> {error}</span>}
        {error === null && !isSuccessful && <span className="bad"> undone</span>}
      </p>
      {reason !== undefined && <DecodedFields decoded={reason} />}
      {(decoded !== undefined || inputSize > 0) && (
        <details>
          <summary>
            {decoded?.name ?? (isCreation ? `code of ${formatNumber(inputSize)} bytes` : `${input.slice(0, 10)}…`)}
          </summary>
          {decoded !== undefined && <DecodedFields decoded={decoded} />}
          <Data>
            {input}
            {isWhole ? '' : `… ${formatNumber(inputSize)} bytes in all`}
          </Data>
        </details>
      )}
    </li>
  )
}

function More({ isFetching, onMore }: { readonly isFetching: boolean; readonly onMore: () => void }) {
  return (
    <nav className="pages" aria-label="More of the list">
      <button type="button" disabled={isFetching} onClick={onMore}>
        Show more
      </button>
    </nav>
  )
}

/** Balances, nonces, code and storage that a transaction changed. */
export function TransactionState({ hash }: { readonly hash: string }) {
  const { data, error } = useQuery(stateChangesQuery(hash))
  if (error !== null) return <Note>{error.message}</Note>
  if (data === undefined) return <Note>Loading …</Note>
  const note = STATES[data.state]
  return (
    <>
      {note !== undefined && <Note>{note}</Note>}
      {data.accounts.map((account) => (
        <AccountChanges key={account.address} account={account} />
      ))}
    </>
  )
}

function AccountChanges({ account }: { readonly account: StateChanges['accounts'][number] }) {
  const { address, balance, nonce, codeSize, isDeleted, storage } = account
  return (
    <article className="message">
      <h3>
        <AddressLink address={address} isShort={false} /> {isDeleted && <span className="bad">deleted</span>}
      </h3>
      <dl className="facts">
        {balance !== null && (
          <Change name="Balance">
            <Amount acoin={balance.before} digits={18} /> → <Amount acoin={balance.after} digits={18} />
          </Change>
        )}
        {nonce !== null && (
          <Change name="Nonce">
            {formatNumber(nonce.before)} → {formatNumber(nonce.after)}
          </Change>
        )}
        {codeSize !== null && (
          <Change name="Code">
            {formatNumber(codeSize.before)} → {formatNumber(codeSize.after)} bytes
          </Change>
        )}
        {storage.map(({ slot, before, after }) => (
          <Change key={slot} name={<span className="mono">{slot}</span>}>
            <span className="mono">
              {before} → {after}
            </span>
          </Change>
        ))}
      </dl>
    </article>
  )
}

function Change({ name, children }: { readonly name: React.ReactNode; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
