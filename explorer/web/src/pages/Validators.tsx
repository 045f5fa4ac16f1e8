import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { blocksOfQuery, tokenListQuery } from '../api.ts'
import { formatNumber, formatShare, formatTime } from '../format.ts'
import { Amount } from '../parts/Amount.tsx'
import { Card, Facts, Note } from '../parts/Card.tsx'
import { AddressLink, BlockLink, Copyable } from '../parts/Names.tsx'
import { Pages, TextPages } from '../parts/Pages.tsx'
import { Signatures } from '../parts/Signatures.tsx'
import { StakingEvents } from '../parts/StakeTables.tsx'
import { BlockTable } from '../parts/Tables.tsx'
import { Tabs } from '../parts/Tabs.tsx'
import { State, ValidatorPages } from '../parts/ValidatorTable.tsx'
import { absencesQuery, type Delegator, validatorQuery } from '../stakingApi.ts'

export function Validators() {
  return (
    <>
      <h1>Validators</h1>
      <Card>
        <Tabs
          label="Which validators"
          tabs={[
            { name: 'Active', view: () => <ValidatorPages state="active" /> },
            { name: 'Inactive', view: () => <ValidatorPages state="inactive" /> },
          ]}
        />
      </Card>
    </>
  )
}

export function ValidatorPage() {
  const { id } = useParams({ from: '/validator/$id' })
  const { data: validator, error } = useQuery(validatorQuery(id))
  if (error !== null) return <Note>{error.message}</Note>
  if (validator === undefined) return <Note>Loading …</Note>
  const { operator, uptime } = validator
  const path = `validators/${operator}`
  return (
    <>
      <div className="title">
        <h1 className="named">{validator.moniker === '' ? 'Validator' : validator.moniker}</h1>
        <State validator={validator} />
        {validator.status !== 'removed' && (
          <Link to="/staking/$operator" params={{ operator }}>
            Delegate
          </Link>
        )}
      </div>
      <Card title="Last blocks">
        <Signatures letters={validator.recentBlocks} isWide />
        <p className="quiet">
          {uptime.blocks === 0
            ? 'This validator is not in the validator set.'
            : `Signed ${formatNumber(uptime.signed)} of the last ${formatNumber(uptime.blocks)} blocks for which it was in the validator set.`}
        </p>
      </Card>
      <Card>
        <Facts
          facts={{
            Operator: <Copyable text={operator} />,
            Account: <AddressLink address={validator.address} isShort={false} />,
            'Consensus key': <Copyable text={validator.consensusAddress} />,
            Stake: <Amount acoin={validator.tokens} />,
            'Own stake': <Amount acoin={validator.selfDelegation} />,
            'Minimum own stake': <Amount acoin={validator.minSelfDelegation} digits={18} />,
            'Voting power': formatNumber(validator.power),
            Commission: `${formatShare(validator.commissionRate)} (maximum ${formatShare(validator.maxCommissionRate)}, changes by at most ${formatShare(validator.maxCommissionChange)} per day)`,
            'Commission changed': formatTime(validator.commissionChanged),
            Delegators: formatNumber(validator.delegators),
            Slashes: validator.slashes === 0 ? undefined : formatNumber(validator.slashes),
            'Unbonding ends': validator.unbondingTime === null ? undefined : formatTime(validator.unbondingTime),
            Website: shownOrNothing(validator.website),
            'Security contact': shownOrNothing(validator.securityContact),
            Identity: shownOrNothing(validator.identity),
            Details: validator.details === '' ? undefined : <p className="prose">{validator.details}</p>,
          }}
        />
      </Card>
      <Card>
        <Tabs
          key={operator}
          label="About this validator"
          tabs={[
            { name: 'Delegators', view: () => <Delegators path={`${path}/delegators`} /> },
            { name: 'Events', view: () => <StakingEvents path={`${path}/events`} of={operator} /> },
            {
              name: 'Proposed blocks',
              view: () => (
                <Pages
                  query={(before) => blocksOfQuery(path, before)}
                  empty="This validator has not proposed a block yet."
                >
                  {(blocks) => <BlockTable blocks={blocks} />}
                </Pages>
              ),
            },
            { name: 'Missed blocks', view: () => <Absences operator={operator} /> },
          ]}
        />
      </Card>
    </>
  )
}

/** Untrusted text: never a link, even if it looks like one. */
function shownOrNothing(text: string) {
  return text === '' ? undefined : <span className="named">{text}</span>
}

function Delegators({ path }: { readonly path: string }) {
  return (
    <TextPages query={(before: string | undefined) => tokenListQuery<Delegator>(path, before)} empty="No delegators.">
      {(delegators) => (
        <table>
          <thead>
            <tr>
              <th>Account</th>
              <th className="number">Delegated</th>
            </tr>
          </thead>
          <tbody>
            {delegators.map(({ address, amount }) => (
              <tr key={address}>
                <td data-label="Account">
                  <AddressLink address={address} isShort={false} />
                </td>
                <td data-label="Delegated" className="number">
                  <Amount acoin={amount} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </TextPages>
  )
}

function Absences({ operator }: { readonly operator: string }) {
  return (
    <Pages query={(before) => absencesQuery(operator, before)} empty="This validator has missed no blocks.">
      {(absences) => (
        <table>
          <thead>
            <tr>
              <th>From</th>
              <th>To</th>
              <th className="number">Blocks</th>
              <th>What</th>
            </tr>
          </thead>
          <tbody>
            {absences.map(({ first, last, kind }) => (
              <tr key={first}>
                <td data-label="From">
                  <BlockLink height={first} />
                </td>
                <td data-label="To">
                  <BlockLink height={last} />
                </td>
                <td data-label="Blocks" className="number">
                  {formatNumber(last - first + 1)}
                </td>
                <td data-label="What">{kind === 'nil' ? 'voted nil' : 'no signature in time'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Pages>
  )
}
