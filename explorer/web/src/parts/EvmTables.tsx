import { type Contract, type InternalCall, type Page, placeListQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { Amount } from './Amount.tsx'
import { Note } from './Card.tsx'
import { AddressLink, BlockLink, TransactionLink } from './Names.tsx'
import { TextPages } from './Pages.tsx'

/* Lists of calls between contracts, and of contracts. */

/** Says which calls such a list may lack. */
function lacking({ untraced, indexedFrom, next }: Page<unknown, string>) {
  if (untraced !== null && untraced !== undefined) {
    return (
      <Note>
        This list may be incomplete: the index lacks the calls of transaction{' '}
        <TransactionLink hash={untraced.transaction} /> in block <BlockLink height={untraced.height} />.
      </Note>
    )
  }
  if (next !== null || indexedFrom === null || indexedFrom === undefined) return undefined
  return <Note>This list may be incomplete: the index has no blocks before {formatNumber(indexedFrom)}.</Note>
}

/** Calls of contracts that moved coins of an account, or created or destroyed something. */
export function InternalCallPages({ address }: { readonly address: string }) {
  return (
    <TextPages
      key={address}
      query={(before: string | undefined) =>
        placeListQuery<InternalCall>(`addresses/${address}/internal-calls`, before)
      }
      empty="No contract has moved coins of this account, created it or destroyed it."
      note={lacking}
    >
      {(calls) => (
        <table>
          <thead>
            <tr>
              <th>Transaction</th>
              <th>Call</th>
              <th>From</th>
              <th>To</th>
              <th className="number">Value</th>
            </tr>
          </thead>
          <tbody>
            {calls.map(({ transaction, ordinal, kind, from, to, value, isSuccessful }) => (
              <tr key={`${transaction} ${ordinal}`} className={isSuccessful ? undefined : 'failed'}>
                <td data-label="Transaction">
                  <TransactionLink hash={transaction} />
                </td>
                <td data-label="Call">
                  <span className="tag evm">
                    {kind}
                    {isSuccessful ? '' : ' · failed'}
                  </span>
                </td>
                <td data-label="From">
                  <Side address={from} of={address} />
                </td>
                <td data-label="To">{to === null ? '–' : <Side address={to} of={address} />}</td>
                <td data-label="Value" className="number">
                  <Amount acoin={value} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TextPages>
  )
}

function Side({ address, of }: { readonly address: string; readonly of: string }) {
  return address === of ? <span className="mono self">this account</span> : <AddressLink address={address} />
}

/** How a contract came to be. */
export const WAYS: Readonly<Record<Contract['way'], string>> = {
  transaction: 'transaction',
  create: 'CREATE',
  create2: 'CREATE2',
  genesis: 'genesis',
  precompile: 'precompile',
}

export function ContractPages({ path, empty }: { readonly path: string; readonly empty: string }) {
  return (
    <TextPages
      key={path}
      query={(before: string | undefined) => placeListQuery<Contract>(path, before)}
      empty={empty}
      note={lacking}
    >
      {(contracts) => (
        <table>
          <thead>
            <tr>
              <th>Contract</th>
              <th>Creator</th>
              <th>Way</th>
              <th>Transaction</th>
              <th>Block</th>
            </tr>
          </thead>
          <tbody>
            {contracts.map(({ address, label, creator, way, created, isDeleted }) => (
              <tr key={address}>
                <td data-label="Contract">
                  <AddressLink address={address} /> {label} {isDeleted && <span className="bad">deleted</span>}
                </td>
                <td data-label="Creator">{creator === null ? '–' : <AddressLink address={creator} />}</td>
                <td data-label="Way">{WAYS[way]}</td>
                <td data-label="Transaction">
                  {created === null ? '–' : <TransactionLink hash={created.transaction} />}
                </td>
                <td data-label="Block">{created === null ? '–' : <BlockLink height={created.height} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TextPages>
  )
}
