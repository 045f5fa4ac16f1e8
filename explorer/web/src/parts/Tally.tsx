import type { ProposalDetail } from '../api.ts'
import { formatShare, OPTION_NAMES, type VoteOption } from '../format.ts'
import { Amount } from './Amount.tsx'
import { Card, Facts } from './Card.tsx'

const OPTION_CLASSES = { yes: 'second', no: 'first', noWithVeto: 'fourth', abstain: 'third' } as const

/** Ten thousandths of the whole. */
const PARTS = 10_000n

/** @returns with two decimals; 0 for a whole of 0 */
function percent(part: bigint, whole: bigint): number {
  return whole === 0n ? 0 : Number((part * PARTS) / whole) / 100
}

/** The tally: a bar for each option with its share of the votes, and during voting the thresholds. */
export function Tally({ tally, rules }: Pick<ProposalDetail, 'tally' | 'rules'>) {
  if (tally === null) return null
  const options = Object.keys(OPTION_NAMES) as VoteOption[]
  const total = options.reduce((sum, option) => sum + BigInt(tally[option]), 0n)
  const share = (option: VoteOption): number => percent(BigInt(tally[option]), total)
  return (
    <Card title="Tally">
      <table className="chart">
        <thead>
          <tr>
            <th>Option</th>
            <th>Share</th>
            <th className="number">Stake</th>
          </tr>
        </thead>
        <tbody>
          {options.map((option) => (
            <tr key={option}>
              <td data-label="Option">{OPTION_NAMES[option]}</td>
              <td data-label="Share">
                <svg className="share" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect className="track" width="100" height="10" />
                  <rect className={OPTION_CLASSES[option]} width={share(option)} height="10" />
                </svg>{' '}
                {share(option)} %
              </td>
              <td data-label="Stake" className="number">
                <Amount acoin={tally[option]} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rules !== null && (
        <Facts
          facts={{
            Turnout: `${percent(total, BigInt(rules.bonded))} % of the bonded stake; the quorum is ${formatShare(rules.quorum)}`,
            'Yes, without abstentions': `${percent(BigInt(tally.yes), total - BigInt(tally.abstain))} %; more than ${formatShare(rules.threshold)} is needed to pass`,
            Veto: `${share('noWithVeto')} %; more than ${formatShare(rules.vetoThreshold)} rejects the proposal`,
          }}
        />
      )}
    </Card>
  )
}
