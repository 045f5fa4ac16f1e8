import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { type TransactionDetail, transactionQuery } from '../api.ts'
import { COIN_DECIMALS, formatUnits, parseUnits } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { BlockLink, TransactionLink } from '../parts/Names.tsx'
import { type Action, type Cost, spentBy } from './action.ts'
import { Problem, type Ready } from './WithWallet.tsx'
import { NO_COINS } from './walletProblem.ts'

/** How long nothing changes in a form before its cost is asked for. */
const PAUSE_MS = 300
/** How often a transaction is looked for in the index, and how many times: two minutes. */
const LOOK_MS = 500
const LOOKS = 240

/** A form whose button sends a transaction, with the fee before and the result after. */
export function TransactionForm({
  wallet,
  account,
  action,
  label,
  onDone,
  children,
}: Pick<Ready, 'wallet' | 'account'> & {
  /** undefined: the form is not complete */
  readonly action: Action | undefined
  readonly label: string
  /** called when the transaction is in a block and was successful */
  readonly onDone?: () => void
  readonly children?: ReactNode
}) {
  const name = actionKey(action)
  const cost = useQuery({
    queryKey: ['cost', wallet.name, wallet.address, name],
    queryFn: async ({ signal }): Promise<Cost> => {
      await pause(PAUSE_MS, signal)
      return wallet.estimate(action!)
    },
    enabled: action !== undefined,
    retry: false,
    staleTime: 10_000,
    gcTime: 0,
  })
  const sending = useMutation({
    mutationFn: async (sent: Action): Promise<string> => wallet.submit(sent, cost.data!),
  })
  const isTooMuch =
    action !== undefined && cost.data !== undefined && spentBy(action) + cost.data.fee > BigInt(account.balance)
  const isReady = action !== undefined && cost.data !== undefined && !isTooMuch && !sending.isPending
  const send = (event: FormEvent): void => {
    event.preventDefault()
    if (isReady) sending.mutate(action)
  }
  return (
    <form className="form" onSubmit={send}>
      {children}
      <div className="actions">
        <button type="submit" className="main" disabled={!isReady}>
          {sending.isPending ? 'Confirm in your wallet …' : label}
        </button>
        {action !== undefined && cost.data !== undefined && (
          <span className="quiet">
            Fee: about <Amount acoin={cost.data.fee.toString()} />
          </span>
        )}
        {cost.isFetching && <span className="quiet">Estimating the fee …</span>}
      </div>
      {action !== undefined && <Problem error={isTooMuch ? NO_COINS : cost.error} />}
      <Problem error={sending.error} />
      {sending.data !== undefined && <Outcome key={sending.data} hash={sending.data} onDone={onDone} />}
    </form>
  )
}

/** JSON has no bigint, the type of amounts. */
function actionKey(action: Action | undefined): string {
  return JSON.stringify(action, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)) ?? ''
}

function pause(timeMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, timeMs)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

/** The result of a transaction: first its hash, then its block. Then all shown data are requested again. */
function Outcome({ hash, onDone }: { readonly hash: string; readonly onDone: (() => void) | undefined }) {
  const client = useQueryClient()
  const { data: transaction, error } = useQuery({ ...transactionQuery(hash), retry: LOOKS, retryDelay: LOOK_MS })
  const done = useRef(onDone)
  done.current = onDone
  const isSuccessful = transaction?.isSuccessful
  // Once, however often the transaction itself is asked for again.
  useEffect(() => {
    if (isSuccessful === undefined) return
    void client.invalidateQueries()
    if (isSuccessful) done.current?.()
  }, [client, isSuccessful])
  return (
    <p role="status" className="outcome">
      {transaction !== undefined ? (
        <Included transaction={transaction} />
      ) : error !== null ? (
        <>
          Sent as <span className="mono">{hash}</span>, but not in a block after two minutes. It may still be included,
          or the wallet may have replaced it.
        </>
      ) : (
        <>
          Sent as <span className="mono">{hash}</span>. Waiting for its block …
        </>
      )}
    </p>
  )
}

function Included({ transaction }: { readonly transaction: TransactionDetail }) {
  const { log } = transaction.detail as { readonly log?: string }
  return (
    <>
      {transaction.isSuccessful ? 'Done' : <b className="bad">Failed{log ? `: ${log}` : ''}</b>}: transaction{' '}
      <TransactionLink hash={transaction.hash} /> in block <BlockLink height={transaction.height} />
    </>
  )
}

/** Input of an amount, with the available amount. */
export interface AmountInput {
  readonly text: string
  readonly setText: (text: string) => void
  /** acoin; undefined: none yet, or too much */
  readonly amount: bigint | undefined
  readonly problem: string | undefined
}

/** @param available acoin; undefined: anything */
export function useAmount(available?: string, initial = ''): AmountInput {
  const [text, setText] = useState(initial)
  const typed = text === '' ? undefined : parseUnits(text)
  const problem =
    text === ''
      ? undefined
      : typed === undefined
        ? 'Enter an amount such as 1.5 (at most 18 decimals).'
        : typed === 0n
          ? 'Enter an amount above 0.'
          : available !== undefined && typed > BigInt(available)
            ? `Enter at most ${formatUnits(available)}, the available amount.`
            : undefined
  return { text, setText, amount: problem === undefined ? typed : undefined, problem }
}

export function AmountField({
  label,
  input: { text, setText, problem },
  available,
  hasAll = false,
}: {
  readonly label: string
  readonly input: AmountInput
  /** acoin, shown next to it */
  readonly available?: string
  /** with a button for the whole amount; not where the fee is paid from it, too */
  readonly hasAll?: boolean
}) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        inputMode="decimal"
        autoComplete="off"
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-hint`}
        onChange={({ target }) => setText(target.value)}
      />
      <span id={`${id}-hint`} className={problem === undefined ? 'quiet' : 'bad'}>
        {problem ??
          (available !== undefined && (
            <>
              of <Amount acoin={available} digits={COIN_DECIMALS} />{' '}
              {hasAll && (
                <button
                  type="button"
                  onClick={() => setText(formatUnits(available, COIN_DECIMALS, COIN_DECIMALS).replaceAll(',', ''))}
                >
                  All
                </button>
              )}
            </>
          ))}
      </span>
    </div>
  )
}
