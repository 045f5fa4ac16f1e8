/**
 * Measures an explorer: how fast it catches up with a node of this machine, how far it is behind one with a steady load, and
 * how fast it answers from a big index. It prints and asserts nothing about speed. `--help` lists the flags; docs/benchmarks.md says what
 * the parts measure.
 */
import { measureCatchUp } from './explorer/catchUp.ts'
import { measureLag } from './explorer/lag.ts'
import { measurePages } from './explorer/pages.ts'
import { makePlace, type Place } from './explorer/runExplorer.ts'
import { readFlags } from './flags.ts'
import { Report, type Row } from './report.ts'

const PARTS = ['catch-up', 'lag', 'pages']
const HELP = `node bench/explorer.ts [flags]
  --parts a,b         of ${PARTS.join(',')} (all)
  --postgres          the index in a PostgreSQL server of its own (Debian's package postgresql), else in SQLite
  --database URL      the index in this empty PostgreSQL database; for one part. The part pages takes the index that it has left there
  --empty 2000        empty blocks in the part catch-up
  --blocks 200        blocks with transfers of coins, and as many with transfers of a token
  --transfers 40000   of either kind
  --rate 500          transactions per second in the part lag
  --seconds 60        of load without an explorer, and again with one
  --index FILE        the part pages keeps its index in this SQLite file, and takes it from there when it exists
  --index-transfers 10000000
                      in it, half of coins and half of tokens
  --requests 200      of each kind in the part pages
  --only text         only kinds whose names contain it
  --explorer-flags="…"
                      for its Node.js, for example --cpu-prof
`

const flags = readFlags(HELP, {
  parts: { type: 'string', default: PARTS.join(',') },
  postgres: { type: 'boolean', default: false },
  database: { type: 'string' },
  empty: { type: 'string', default: '2000' },
  blocks: { type: 'string', default: '200' },
  transfers: { type: 'string', default: '40000' },
  rate: { type: 'string', default: '500' },
  seconds: { type: 'string', default: '60' },
  index: { type: 'string' },
  'index-transfers': { type: 'string', default: '10000000' },
  requests: { type: 'string', default: '200' },
  only: { type: 'string', default: '' },
  'explorer-flags': { type: 'string', default: '' },
})
const explorerFlags = flags['explorer-flags'].split(' ').filter(Boolean)
const isPostgres = flags.postgres || flags.database !== undefined
const report = new Report()

/** Measures in a new index. */
async function measure(run: (place: Place) => Promise<readonly Row[]>): Promise<void> {
  const place =
    flags.database === undefined
      ? await makePlace(isPostgres)
      : { database: flags.database, processorMs: () => undefined, remove: () => undefined }
  try {
    report.add(isPostgres ? 'PostgreSQL' : 'SQLite', await run(place))
  } finally {
    place.remove()
  }
}

const parts = new Set(flags.parts.split(','))
if (parts.has('catch-up')) {
  await measure((place) =>
    measureCatchUp({
      place,
      emptyBlocks: Number(flags.empty),
      fullBlocks: Number(flags.blocks),
      transfers: Number(flags.transfers),
      explorerFlags,
    }),
  )
}
if (parts.has('lag')) {
  await measure(({ database }) =>
    measureLag({ database, rate: Number(flags.rate), seconds: Number(flags.seconds), explorerFlags }),
  )
}
if (parts.has('pages')) {
  await measure(({ database }) =>
    measurePages({
      database: flags.index ?? database,
      transfers: Number(flags['index-transfers']),
      requests: Number(flags.requests),
      only: flags.only,
      explorerFlags,
    }),
  )
}
