import { useQuery } from '@tanstack/react-query'
import { type NetworkNode, networkQuery, nodesQuery } from '../api.ts'
import { formatNumber } from '../format.ts'
import { Card, Note } from '../parts/Card.tsx'
import { Pages } from '../parts/Pages.tsx'
import { Age } from '../parts/Time.tsx'

/** The nodes that report to this explorer: who they are, what they run, how far they are behind. */
export function NetworkPage() {
  return (
    <>
      <h1>Network</h1>
      <Together />
      <Card title="Verified nodes">
        <Note>Each node signs its reports with the key of its node ID.</Note>
        <Pages query={(before) => nodesQuery(true, before)} empty="No node has signed a report yet.">
          {(nodes) => <NodeTable nodes={nodes} />}
        </Pages>
      </Card>
      <Card title="Unverified nodes">
        <Note>Reports without a signature can come from anyone and may be false.</Note>
        <Pages name="unverified" query={(before) => nodesQuery(false, before)} empty="No unverified nodes.">
          {(nodes) => <NodeTable nodes={nodes} />}
        </Pages>
      </Card>
    </>
  )
}

/** Numbers of nodes, then versions and lags of the verified ones as bars. */
function Together() {
  const { data } = useQuery(networkQuery)
  if (data === undefined) return <Note>Loading …</Note>
  const { verified, unverified, silent, versions, lags } = data
  const figures = [
    ['Verified nodes', verified],
    ['Silent', silent],
    ['Unverified nodes', unverified],
  ] as const
  return (
    <>
      <ul className="figures" aria-label="Nodes now">
        {figures.map(([name, value]) => (
          <li key={name}>
            <span className="name">{name}</span>
            <span className="value">{formatNumber(value)}</span>
          </li>
        ))}
      </ul>
      {verified > 0 && (
        <div className="figures">
          <Card title="Versions">
            <Bars of={verified} bars={versions.map(({ version, nodes }) => ({ name: version, nodes }))} />
          </Card>
          <Card title="Blocks behind the chain">
            <Bars of={verified} bars={lags.map(({ from, to, nodes }) => ({ name: lagName(from, to), nodes }))} />
          </Card>
        </div>
      )}
    </>
  )
}

function lagName(from: number, to: number | null): string {
  return to === null ? `${formatNumber(from)} or more` : `${from} to ${to}`
}

/** Most versions with a bar of their own: nodes can report any text. */
const MAX_BARS = 8

function Bars({
  bars,
  of,
}: {
  readonly bars: readonly { readonly name: string; readonly nodes: number }[]
  readonly of: number
}) {
  return (
    <dl className="facts">
      {bars.slice(0, MAX_BARS).map(({ name, nodes }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <meter className="wide" min={0} max={of} value={nodes} aria-label={`${nodes} of ${of} nodes`} />{' '}
            {formatNumber(nodes)}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const CHAINS = { same: '', other: 'another chain', unknown: '' } as const

function NodeTable({ nodes }: { readonly nodes: readonly NetworkNode[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Node</th>
          <th>Version</th>
          <th className="number">Height</th>
          <th className="number">Behind</th>
          <th className="number">Peers</th>
          <th>Last report</th>
          <th>RPC</th>
        </tr>
      </thead>
      <tbody>
        {nodes.map((node) => (
          <tr key={node.nodeId}>
            <td data-label="Node" className="named">
              {node.moniker}
              <br />
              <span className="mono quiet">{node.nodeId}</span>
            </td>
            <td data-label="Version">{node.version}</td>
            <td data-label="Height" className="number">
              {formatNumber(node.height)} <span className="bad">{CHAINS[node.chain]}</span>
            </td>
            <td data-label="Behind" className="number">
              {formatNumber(node.lag)}
            </td>
            <td data-label="Peers" className="number">
              {formatNumber(node.peers)}
            </td>
            <td data-label="Last report">
              {node.isSilent && <span className="bad">silent · </span>}
              <Age time={node.lastSeen} />
            </td>
            <td data-label="RPC" className="named">
              <Rpc rpc={node.rpc} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Rpc({ rpc }: { readonly rpc: NetworkNode['rpc'] }) {
  if (rpc === null) return '–'
  const state = rpc.latencyMs === null ? (rpc.problem ?? 'not checked yet') : `${formatNumber(rpc.latencyMs)} ms`
  return (
    <>
      <span className="mono">{rpc.url}</span>
      <br />
      <span className={rpc.problem === null ? 'quiet' : 'bad'}>{state}</span>
    </>
  )
}
