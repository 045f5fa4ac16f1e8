import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { type TransactionDetail, transactionQuery } from '../api.ts'
import { formatNumber, formatTime, formatUnits } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { Data } from '../parts/Data.tsx'
import { InputData, TransactionCalls, TransactionLogs, TransactionState } from '../parts/EvmTabs.tsx'
import { AddressLink, BlockLink, Copyable } from '../parts/Names.tsx'
import { Method, MovementTable } from '../parts/Tables.tsx'
import { type Tab, Tabs } from '../parts/Tabs.tsx'
import { Age } from '../parts/Time.tsx'
import { TokenTransferTable } from '../parts/TokenTables.tsx'

interface EvmDetail {
  readonly input: string
  readonly type: number
  readonly effectiveGasPrice: string
  readonly contractAddress: string | null
  readonly log?: string
}

interface NativeDetail {
  readonly messages: readonly ({ readonly '@type': string } & Readonly<Record<string, unknown>>)[]
  readonly memo: string
  readonly code: number
  readonly codespace: string
  readonly log: string
  readonly events: readonly {
    readonly type: string
    readonly attributes: readonly { readonly key: string; readonly value: string }[]
  }[]
}

export function TransactionPage() {
  const { hash } = useParams({ from: '/tx/$hash' })
  const { data: transaction, error } = useQuery(transactionQuery(hash))
  if (error !== null) return <Note>{error.message}</Note>
  if (transaction === undefined) return <Note>Loading …</Note>
  return (
    <>
      <div className="title">
        <h1>Transaction</h1>
        <Method transaction={transaction} />
      </div>
      {transaction.kind === 'evm' ? (
        <Card>
          <Tabs key={hash} label="About this transaction" tabs={tabsOf(transaction)} />
        </Card>
      ) : (
        <>
          <Card>
            <Overview transaction={transaction} />
          </Card>
          <Messages transaction={transaction} />
        </>
      )}
      <Moved transaction={transaction} />
    </>
  )
}

function tabsOf(transaction: TransactionDetail): readonly Tab[] {
  const { hash, to, logs, calls, detail } = transaction
  const { input } = detail as unknown as EvmDetail
  return [
    {
      name: 'Overview',
      view: () => (
        <>
          <Overview transaction={transaction} />
          {input !== '0x' && (
            <section className="part">
              <h2>Input, {formatNumber(input.length / 2 - 1)} bytes</h2>
              <InputData input={input} to={to} />
            </section>
          )}
        </>
      ),
    },
    { name: 'Logs', count: logs, view: () => <TransactionLogs hash={hash} /> },
    {
      name: 'Internal calls',
      count: Math.max(0, calls - 1),
      view: () => <TransactionCalls transaction={transaction} />,
    },
    { name: 'State changes', view: () => <TransactionState hash={hash} /> },
  ]
}

function Overview({ transaction }: { readonly transaction: TransactionDetail }) {
  return (
    <Facts
      facts={{
        Hash: (
          <Copyable text={transaction.kind === 'evm' ? transaction.hash : transaction.hash.slice(2).toUpperCase()} />
        ),
        Outcome: transaction.isSuccessful ? 'successful' : 'failed: only its fee was charged',
        Block: (
          <>
            <BlockLink height={transaction.height} />, place {transaction.index + 1}
          </>
        ),
        Time: (
          <>
            {formatTime(transaction.time)} (<Age time={transaction.time} />)
          </>
        ),
        From: <AddressLink address={transaction.from} isShort={false} />,
        To: transaction.to === null ? undefined : <AddressLink address={transaction.to} isShort={false} />,
        Value: transaction.kind === 'evm' ? <Amount acoin={transaction.value} digits={18} /> : undefined,
        Fee: <Amount acoin={transaction.fee} digits={18} />,
        Gas: `${formatNumber(transaction.gasUsed)} of ${formatNumber(transaction.gasLimit)}`,
        Nonce: formatNumber(transaction.nonce),
        ...(transaction.kind === 'evm' ? evmFacts(transaction) : {}),
      }}
    />
  )
}

/** Coins and tokens that it moved. */
function Moved({ transaction }: { readonly transaction: TransactionDetail }) {
  return (
    <>
      {transaction.movements.length > 0 && (
        <Card title="Coin movements">
          <MovementTable movements={transaction.movements} />
        </Card>
      )}
      {transaction.tokenTransfers.length > 0 && (
        <Card title={transaction.hasMoreTokenTransfers ? 'The last 100 token transfers' : 'Token transfers'}>
          <TokenTransferTable transfers={transaction.tokenTransfers} isOfTransaction />
        </Card>
      )}
    </>
  )
}

function evmFacts({ detail }: TransactionDetail) {
  const { type, effectiveGasPrice, contractAddress, log } = detail as unknown as EvmDetail
  return {
    'Gas price': `${formatUnits(BigInt(effectiveGasPrice).toString(), 9)} gwei`,
    Type: String(type),
    'New contract': contractAddress === null ? undefined : <AddressLink address={contractAddress} isShort={false} />,
    Error: log,
  }
}

function Messages({ transaction }: { readonly transaction: TransactionDetail }) {
  const { messages, memo, code, codespace, log, events } = transaction.detail as unknown as NativeDetail
  return (
    <>
      <Card title={messages.length === 1 ? 'Message' : `${messages.length} messages`}>
        {code !== 0 && (
          <Note>
            Error {codespace}/{code}: {log}
          </Note>
        )}
        {messages.map(({ '@type': type, ...fields }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages have no name but their order, which does not change
          <article key={index} className="message">
            <h3>{type}</h3>
            <Facts
              facts={Object.fromEntries(
                Object.entries(fields).map(([name, value]) => [name, <Value key={name} value={value} />]),
              )}
            />
          </article>
        ))}
        {memo !== '' && <Facts facts={{ Memo: memo }} />}
      </Card>
      <Card title={`${events.length} events`}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is to be reached by keyboard */}
        <ul className="events" tabIndex={0}>
          {events.map(({ type, attributes }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: events have no name but their order, which does not change
            <li key={index}>
              <b>{type}</b>{' '}
              <span className="mono">{attributes.map(({ key, value }) => `${key}=${value}`).join('  ')}</span>
            </li>
          ))}
        </ul>
      </Card>
    </>
  )
}

/** A field of a message: text as it is, else JSON. */
function Value({ value }: { readonly value: unknown }) {
  if (typeof value !== 'string') return <Data>{JSON.stringify(value, undefined, 2)}</Data>
  return /^(0x[0-9a-f]{40}|coin1[02-9ac-hj-np-z]{38})$/.test(value) ? (
    <AddressLink address={value} isShort={false} />
  ) : (
    <span className="mono">{value}</span>
  )
}
