import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/*
 * Writes the dashboard for Grafana (10 and later; schema version 39), which asks a Prometheus that scrapes coind. `npm run generate` runs
 * it; a test compares the file, and asks a real Prometheus each of its queries.
 */

interface Panel {
  readonly title: string
  readonly unit: 'none' | 's' | 'bytes' | 'Bps' | 'ops' | 'percentunit' | 'suffix: gas/s'
  /** PromQL by legend; `$instance` are the chosen nodes */
  readonly queries: Readonly<Record<string, string>>
  /** one number instead of a graph */
  readonly isStat?: true
}

const rate = (metric: string, by = 'instance'): string =>
  `sum by (${by}) (rate(${metric}{instance=~"$instance"}[$__rate_interval]))`
const quantile = (q: number, metric: string, by = 'instance'): string =>
  `histogram_quantile(${q}, ${rate(`${metric}_bucket`, `${by}, le`)})`
const percentiles = (metric: string): Panel['queries'] => ({
  '{{instance}} p50': quantile(0.5, metric),
  '{{instance}} p99': quantile(0.99, metric),
})
const value = (metric: string, legend = '{{instance}}'): Panel['queries'] => ({
  [legend]: `${metric}{instance=~"$instance"}`,
})

const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Chain: [
    { title: 'Height', unit: 'none', queries: value('coind_block_height'), isStat: true },
    { title: 'Peers', unit: 'none', queries: value('coind_peers'), isStat: true },
    { title: 'Block interval', unit: 's', queries: percentiles('coind_block_interval_seconds') },
    { title: 'Transactions per second', unit: 'ops', queries: { '{{instance}}': rate('coind_transactions_total') } },
    { title: 'Gas per second', unit: 'suffix: gas/s', queries: { '{{instance}}': rate('coind_gas_used_total') } },
    { title: 'Base fee in wei', unit: 'none', queries: value('coind_base_fee_wei') },
    { title: 'Pool', unit: 'none', queries: value('coind_mempool_transactions', '{{instance}} {{state}}') },
  ],
  Validator: [
    {
      title: 'Own validator',
      unit: 'none',
      queries: {
        '{{instance}} in the set': 'coind_validator_active{instance=~"$instance"}',
        '{{instance}} jailed': 'coind_validator_jailed{instance=~"$instance"}',
      },
    },
    { title: 'Own power', unit: 'none', queries: value('coind_validator_power') },
    {
      title: 'Missed share of the window',
      unit: 'percentunit',
      queries: {
        '{{instance}}':
          'coind_validator_missed_blocks{instance=~"$instance"} / coind_validator_window_blocks{instance=~"$instance"}',
      },
    },
    {
      title: 'Missed blocks per second',
      unit: 'ops',
      queries: { '{{instance}}': rate('coind_validator_missed_total') },
    },
    { title: 'Clock offset from the proposers', unit: 's', queries: value('coind_clock_offset_seconds') },
    { title: 'Time for a proposal', unit: 's', queries: value('coind_build_budget_seconds') },
    { title: 'Block execution', unit: 's', queries: percentiles('coind_block_execution_seconds') },
    { title: 'Synced write of the write-ahead log', unit: 's', queries: percentiles('coind_wal_fsync_seconds') },
    { title: 'Database batch', unit: 's', queries: percentiles('coind_db_batch_seconds') },
    {
      title: 'Remote signer latency',
      unit: 's',
      queries: percentiles('coind_signer_seconds'),
    },
    {
      title: 'Must be zero',
      unit: 'none',
      queries: {
        '{{instance}} signatures of another copy': 'coind_unknown_signatures_total{instance=~"$instance"}',
        '{{instance}} votes not signed: {{reason}}': 'coind_signer_lost_total{instance=~"$instance"} > 0',
        '{{instance}} evidence': 'coind_evidence_total{instance=~"$instance"}',
        '{{instance}} unforeseen: {{place}}': 'coind_unforeseen_errors_total{instance=~"$instance"} > 0',
        '{{instance}} restarts: {{name}}': 'coind_thread_restarts_total{instance=~"$instance"} > 0',
      },
    },
  ],
  Network: [
    {
      title: 'Sent to peers',
      unit: 'Bps',
      queries: { '{{instance}} {{protocol}}': rate('coind_p2p_sent_bytes_total', 'instance, protocol') },
    },
    {
      title: 'Received from peers',
      unit: 'Bps',
      queries: { '{{instance}} {{protocol}}': rate('coind_p2p_received_bytes_total', 'instance, protocol') },
    },
    {
      title: 'Inbound connections',
      unit: 'ops',
      queries: { '{{instance}} {{result}}': rate('coind_p2p_inbound_connections_total', 'instance, result') },
    },
    {
      title: 'Dropped messages and bans',
      unit: 'ops',
      queries: {
        '{{instance}} {{reason}}': rate('coind_p2p_dropped_total', 'instance, reason'),
        '{{instance}} bans': rate('coind_p2p_bans_total'),
      },
    },
  ],
  Clients: [
    {
      title: 'Requests',
      unit: 'ops',
      queries: { '{{method}}': `topk(10, ${rate('coind_rpc_requests_total', 'method')})` },
    },
    {
      title: 'Request time, p99',
      unit: 's',
      queries: { '{{method}}': `topk(10, ${quantile(0.99, 'coind_rpc_request_seconds', 'method')})` },
    },
    {
      title: 'Refused',
      unit: 'ops',
      queries: { '{{instance}} {{reason}}': rate('coind_rpc_refused_total', 'instance, reason') },
    },
    {
      title: 'Tasks waiting for view threads',
      unit: 'none',
      queries: value('coind_view_waiting_tasks', '{{instance}} {{queue}}'),
    },
    { title: 'Connections', unit: 'none', queries: value('coind_rpc_connections', '{{instance}} {{transport}}') },
  ],
  Machine: [
    {
      title: 'Processors',
      unit: 'none',
      queries: { '{{instance}}': rate('process_cpu_seconds_total') },
    },
    { title: 'Memory', unit: 'bytes', queries: value('process_resident_memory_bytes') },
    {
      title: 'V8 memory by thread',
      unit: 'bytes',
      queries: { '{{thread}}': 'sum by (thread) (coind_thread_memory_bytes{instance=~"$instance", kind!="used"})' },
    },
    {
      title: 'Timer delay, p99',
      unit: 's',
      queries: { '{{instance}} {{thread}}': 'coind_event_loop_delay_seconds{instance=~"$instance", quantile="0.99"}' },
    },
    { title: 'Disk', unit: 'bytes', queries: value('coind_disk_bytes', '{{instance}} {{column}}') },
  ],
}

const COLUMNS = 24
const PANEL = { width: 8, height: 8 }

function panelOf({ title, unit, queries, isStat }: Panel, id: number, x: number, y: number) {
  return {
    id,
    title,
    type: isStat ? 'stat' : 'timeseries',
    datasource: { type: 'prometheus', uid: '$datasource' },
    gridPos: { x, y, w: PANEL.width, h: PANEL.height },
    fieldConfig: { defaults: { unit }, overrides: [] },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      expr,
      legendFormat,
    })),
  }
}

function panels(): readonly object[] {
  const all: object[] = []
  let y = 0
  for (const [title, row] of Object.entries(ROWS)) {
    all.push({
      id: all.length + 1,
      type: 'row',
      title,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      collapsed: false,
      panels: [],
    })
    y++
    for (const [index, panel] of row.entries()) {
      const x = (index * PANEL.width) % COLUMNS
      all.push(panelOf(panel, all.length + 1, x, y + Math.floor((index * PANEL.width) / COLUMNS) * PANEL.height))
    }
    y += Math.ceil((row.length * PANEL.width) / COLUMNS) * PANEL.height
  }
  return all
}

export const GRAFANA_DASHBOARD = join(import.meta.dirname, '../deploy/grafana/coind.json')

/** Returns the text of {@link GRAFANA_DASHBOARD}. */
export function grafanaDashboard(): string {
  const dashboard = {
    uid: 'coind',
    title: 'coind',
    tags: ['coind'],
    schemaVersion: 39,
    editable: true,
    refresh: '15s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' },
        {
          name: 'instance',
          label: 'Node',
          type: 'query',
          datasource: { type: 'prometheus', uid: '$datasource' },
          query: { query: 'label_values(coind_block_height, instance)', refId: 'instance' },
          refresh: 2,
          multi: true,
          includeAll: true,
          allValue: '.*',
          current: { text: 'All', value: '$__all' },
        },
      ],
    },
    panels: panels(),
  }
  return `${JSON.stringify(dashboard, undefined, 2)}\n`
}

/** Returns each query of {@link grafanaDashboard} as Prometheus takes it, for all nodes and rates over a minute. */
export function dashboardQueries(): readonly string[] {
  const queries = Object.values(ROWS).flatMap((row) => row.flatMap((panel) => Object.values(panel.queries)))
  return queries.map((query) => query.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'))
}

if (import.meta.main) writeFileSync(GRAFANA_DASHBOARD, grafanaDashboard())
