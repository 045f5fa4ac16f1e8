import type { Block, Movement, Transaction } from '../api.ts'
import { formatNumber, methodName } from '../format.ts'
import { Amount } from './Amount.tsx'
import { AddressLink, BlockLink, TransactionLink } from './Names.tsx'
import { Age } from './Time.tsx'

/* Lists of blocks, transactions and movements of coins. On a narrow screen each row becomes a small card, by its data-labels. */

export function BlockTable({ blocks }: { readonly blocks: readonly Block[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Block</th>
          <th>Age</th>
          <th className="number">Transactions</th>
          <th className="number">Gas</th>
          <th>Fee recipient</th>
        </tr>
      </thead>
      <tbody>
        {blocks.map(({ height, time, evmTransactions, nativeTransactions, gasUsed, gasLimit, feeRecipient }) => (
          <tr key={height}>
            <td data-label="Block">
              <BlockLink height={height} />
            </td>
            <td data-label="Age">
              <Age time={time} />
            </td>
            <td data-label="Transactions" className="number">
              {evmTransactions + nativeTransactions}
            </td>
            <td data-label="Gas" className="number">
              <Gas used={gasUsed} limit={gasLimit} />
            </td>
            <td data-label="Fee recipient">
              <AddressLink address={feeRecipient} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Gas of a block: a number and how full that makes it. */
export function Gas({ used, limit }: { readonly used: number; readonly limit: number }) {
  const percent = limit === 0 ? 0 : Math.round((used / limit) * 1000) / 10
  return (
    <span title={`${formatNumber(used)} of ${formatNumber(limit)}`}>
      {formatNumber(used)} <meter min={0} max={100} value={percent} aria-label={`${percent} % full`} />
    </span>
  )
}

export function TransactionTable({
  transactions,
  of,
}: {
  readonly transactions: readonly Transaction[]
  /** the account whose list this is: its side is not a link */
  readonly of?: string
}) {
  return (
    <table>
      <thead>
        <tr>
          <th>Transaction</th>
          <th>Method</th>
          <th>Block</th>
          <th>Age</th>
          <th>From</th>
          <th>To</th>
          <th className="number">Value</th>
        </tr>
      </thead>
      <tbody>
        {transactions.map((transaction) => (
          <tr key={transaction.hash} className={transaction.isSuccessful ? undefined : 'failed'}>
            <td data-label="Transaction">
              <TransactionLink hash={transaction.hash} />
            </td>
            <td data-label="Method">
              <Method transaction={transaction} />
            </td>
            <td data-label="Block">
              <BlockLink height={transaction.height} />
            </td>
            <td data-label="Age">
              <Age time={transaction.time} />
            </td>
            <td data-label="From">
              <Side address={transaction.from} of={of} />
            </td>
            <td data-label="To">{transaction.to === null ? '–' : <Side address={transaction.to} of={of} />}</td>
            <td data-label="Value" className="number">
              <Amount acoin={transaction.value} digits={4} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Side({ address, of }: { readonly address: string; readonly of: string | undefined }) {
  return address === of ? <span className="mono self">this account</span> : <AddressLink address={address} />
}

/** The method of a transaction, in its kind's colour. */
export function Method({ transaction: { kind, method, to, isSuccessful } }: { readonly transaction: Transaction }) {
  return (
    <span className={`tag ${kind}`}>
      {methodName(kind, method, to === null)}
      {isSuccessful ? '' : ' · failed'}
    </span>
  )
}

export function MovementTable({ movements, of }: { readonly movements: readonly Movement[]; readonly of?: string }) {
  return (
    <table>
      <thead>
        <tr>
          <th>From</th>
          <th>To</th>
          <th>Why</th>
          <th className="number">Amount</th>
          {of !== undefined && <th>Where</th>}
        </tr>
      </thead>
      <tbody>
        {movements.map((movement, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: movements have no name but their order, which does not change
          <tr key={index}>
            <td data-label="From">{movement.from === null ? 'minted' : <Side address={movement.from} of={of} />}</td>
            <td data-label="To">{movement.to === null ? 'burnt' : <Side address={movement.to} of={of} />}</td>
            <td data-label="Why">{movement.kind}</td>
            <td data-label="Amount" className="number">
              <Amount acoin={movement.amount} />
            </td>
            {of !== undefined && (
              <td data-label="Where">
                {movement.transaction === null ? (
                  <BlockLink height={movement.height} />
                ) : (
                  <TransactionLink hash={movement.transaction} />
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
