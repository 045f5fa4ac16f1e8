import { Link } from '@tanstack/react-router'
import { depositsQuery, votesQuery } from '../api.ts'
import { OPTION_NAMES } from '../format.ts'
import { Amount } from './Amount.tsx'
import { AddressLink, BlockLink, TransactionLink } from './Names.tsx'
import { Pages } from './Pages.tsx'

/** @param of `proposals/…` or `addresses/…`: each row names the other one */
export function VotePages({ of }: { readonly of: string }) {
  const isOfAccount = of.startsWith('addresses/')
  return (
    <Pages key={of} query={(before) => votesQuery(of, before)} empty="No votes yet.">
      {(votes) => (
        <table>
          <thead>
            <tr>
              <th>{isOfAccount ? 'Proposal' : 'Voter'}</th>
              <th>Vote</th>
              <th>Where</th>
            </tr>
          </thead>
          <tbody>
            {votes.map(({ proposal, voter, options, height, transaction, isReplaced }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: votes have no name but their order, which does not change
              <tr key={index}>
                <td data-label={isOfAccount ? 'Proposal' : 'Voter'}>
                  {isOfAccount ? (
                    <Link to="/proposal/$id" params={{ id: String(proposal) }}>
                      Proposal {proposal}
                    </Link>
                  ) : (
                    <AddressLink address={voter} />
                  )}
                </td>
                <td data-label="Vote">
                  {options
                    .map(({ option, weight }) =>
                      options.length === 1 ? OPTION_NAMES[option] : `${OPTION_NAMES[option]} ${Number(weight)}`,
                    )
                    .join(', ')}
                  {isReplaced ? ' · replaced by a later one' : ''}
                </td>
                <Where height={height} transaction={transaction} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Pages>
  )
}

/** Deposits on a proposal. */
export function DepositPages({ id }: { readonly id: string }) {
  return (
    <Pages key={id} name="deposits" query={(before) => depositsQuery(id, before)} empty="No deposits yet.">
      {(deposits) => (
        <table>
          <thead>
            <tr>
              <th>Depositor</th>
              <th className="number">Amount</th>
              <th>Where</th>
            </tr>
          </thead>
          <tbody>
            {deposits.map(({ depositor, amount, height, transaction }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: deposits have no name but their order, which does not change
              <tr key={index}>
                <td data-label="Depositor">
                  <AddressLink address={depositor} />
                </td>
                <td data-label="Amount" className="number">
                  <Amount acoin={amount} />
                </td>
                <Where height={height} transaction={transaction} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Pages>
  )
}

function Where({ height, transaction }: { readonly height: number; readonly transaction: string | null }) {
  return (
    <td data-label="Where">
      {transaction === null ? <BlockLink height={height} /> : <TransactionLink hash={transaction} />}
    </td>
  )
}
