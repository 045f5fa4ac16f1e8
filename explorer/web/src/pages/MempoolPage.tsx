import { useQuery } from '@tanstack/react-query'
import { mempoolQuery } from '../api.ts'
import { formatNumber, formatUnits, shorten } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { AddressLink } from '../parts/Names.tsx'

/** Transactions that wait for a block. */
export function MempoolPage() {
  const { data, error } = useQuery(mempoolQuery)
  if (error !== null) return <Note>{error.message}</Note>
  if (data === undefined) return <Note>Loading …</Note>
  const { total, bytes, pending, queued, items } = data
  return (
    <>
      <h1>Mempool</h1>
      <Card>
        <Facts
          facts={{
            Transactions: `${formatNumber(total)}, ${formatNumber(bytes)} bytes`,
            'EVM, ready': formatNumber(pending),
            'EVM, waiting for a lower nonce': formatNumber(queued),
          }}
        />
      </Card>
      <Card title={items.length < total ? `The first ${items.length}` : undefined}>
        {items.length === 0 ? (
          <Note>The mempool is empty: no transaction is waiting for a block.</Note>
        ) : (
          <table>
            <thead>
              <tr>
                <th>Transaction</th>
                <th>Kind</th>
                <th>From</th>
                <th>To</th>
                <th className="number">Value</th>
                <th className="number">Nonce</th>
                <th className="number">Max. gas price</th>
                <th className="number">Bytes</th>
              </tr>
            </thead>
            <tbody>
              {items.map(({ hash, kind, size, from, to, value, nonce, maxFeePerGas }) => (
                <tr key={hash}>
                  <td data-label="Transaction" className="mono" title={hash}>
                    {shorten(hash, 10, 8)}
                  </td>
                  <td data-label="Kind">
                    <span className={`tag ${kind}`}>{kind === 'evm' ? 'EVM' : 'native'}</span>
                  </td>
                  <td data-label="From">{from === null ? '–' : <AddressLink address={from} />}</td>
                  <td data-label="To">{to === null ? '–' : <AddressLink address={to} />}</td>
                  <td data-label="Value" className="number">
                    {value === null ? '–' : <Amount acoin={value} digits={4} />}
                  </td>
                  <td data-label="Nonce" className="number">
                    {nonce === null ? '–' : formatNumber(nonce)}
                  </td>
                  <td data-label="Max. gas price" className="number">
                    {maxFeePerGas === null ? '–' : `${formatUnits(maxFeePerGas, 9)} gwei`}
                  </td>
                  <td data-label="Bytes" className="number">
                    {formatNumber(size)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Card>
    </>
  )
}
