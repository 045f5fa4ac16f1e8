import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'

/** The parts of src/ from top to bottom: a part imports itself and the parts after it. */
const ORDER = [
  'cli',
  'rpc',
  'sync',
  'datadir',
  'p2p',
  'consensus',
  'execution',
  'snapshot',
  'mempool',
  'precompiles',
  'modules',
  'evm',
  'state',
  'chain',
  'storage',
  'telemetry',
  'config',
  'primitives',
] as const

/** They join the parts: they import any, and only `cli` and they are above them. */
const COMPOSITION: readonly string[] = ['main.ts', 'operator', 'node']

/** Imports against the rules, with the reason. Types only. */
const EXCEPTIONS: readonly { readonly from: string; readonly to: string; readonly why: string }[] = [
  {
    from: 'execution',
    to: 'consensus/application.ts',
    why: 'consensus declares the Application that execution implements',
  },
]

/** The explorer's features, from top to bottom, each with the features below it that it imports. */
const EXPLORER_FEATURES: Readonly<Record<string, readonly string[]>> = {
  verify: ['contracts'],
  faucet: [],
  network: [],
  statistics: [],
  governance: [],
  stake: ['blocks'],
  blocks: ['transactions', 'accounts'],
  transactions: ['accounts', 'tokens', 'contracts'],
  tokens: [],
  contracts: [],
  accounts: [],
}

/** The explorer's parts, from top to bottom. A feature's tables.ts belongs to `database`, since all tables are in one type there. */
const EXPLORER_ORDER: readonly string[] = [
  'run.ts',
  'startExplorer.ts',
  'server',
  'etherscan',
  'ingest',
  ...Object.keys(EXPLORER_FEATURES),
  'api',
  'node',
  'config',
  'database',
]

/** Parts of the node's sources that the explorer uses: codecs, and the readers and writers of settings and logs. Otherwise it uses the RPC. */
const FOR_EXPLORER: readonly string[] = ['primitives', 'config', 'telemetry', 'cli/configFlags.ts']

/** Files outside of src/ that modules may import. */
const OUTSIDE: readonly string[] = ['../package.json', '../assembly/evm/constants.ts', '../assembly/trie/trieLayout.ts']

export interface Import {
  /** paths relative to src/, with / */
  readonly from: string
  readonly to: string
  readonly isTypeOnly: boolean
}

const STATEMENT =
  /^[ \t]*(?:import|export)\s+(type\s+)?(?:[\w*$\s{},]*?\sfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm

/** Finds the relative imports in the text of a module. Paths are relative to the folder that is checked. */
export function importsOf(file: string, text: string): readonly Import[] {
  const found: Import[] = []
  for (const match of text.matchAll(STATEMENT)) {
    const target = match[2] ?? match[3]!
    if (!target.startsWith('.')) continue
    const to = join(dirname(file), target).split(sep).join('/')
    found.push({ from: file, to, isTypeOnly: match[1] !== undefined })
  }
  return found
}

function partOf(file: string): string {
  return file.split('/')[0]!
}

/** Says why the import is against the rules; undefined when it is not. */
export function violation(edge: Import): string | undefined {
  if (edge.to.startsWith('../'))
    return OUTSIDE.includes(edge.to) ? undefined : 'src/ imports nothing from outside of src/'
  const from = partOf(edge.from)
  const to = partOf(edge.to)
  if (from === to || COMPOSITION.includes(from)) return undefined
  if (COMPOSITION.includes(to)) return from === 'cli' ? undefined : `${to} composes the parts, only cli is above it`
  const allowed = EXCEPTIONS.some((entry) => entry.from === from && entry.to === edge.to)
  if (allowed && edge.isTypeOnly) return undefined
  if (from === 'consensus' && to === 'execution') return 'consensus and execution do not import each other'
  const fromLevel = (ORDER as readonly string[]).indexOf(from)
  const toLevel = (ORDER as readonly string[]).indexOf(to)
  if (fromLevel === -1) return `${from} is not in the order of parts`
  if (toLevel === -1) return `${to} is not in the order of parts`
  return fromLevel > toLevel ? `${to} is above ${from}` : undefined
}

/** Finds a cycle of imports, of types too, as the list of its files; undefined when there is no cycle. */
export function findCycle(edges: readonly Import[]): readonly string[] | undefined {
  const targets = Map.groupBy(edges, (edge) => edge.from)
  const finished = new Set<string>()
  const visit = (file: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (finished.has(file)) return undefined
    for (const edge of targets.get(file) ?? []) {
      const cycle = visit(edge.to, [...path, file])
      if (cycle !== undefined) return cycle
    }
    finished.add(file)
    return undefined
  }
  for (const file of targets.keys()) {
    const cycle = visit(file, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

/** Says why the import is against the rules of explorer/; undefined when it is not. */
export function explorerViolation({ from, to, isTypeOnly }: Import): string | undefined {
  if (from.startsWith('web/')) {
    const isOfAnswers = isTypeOnly && /^\w+\/shapes\.ts$/.test(to)
    return to.startsWith('web/') || isOfAnswers
      ? undefined
      : 'explorer/web/ imports only types of the files shapes.ts of explorer/'
  }
  if (to.startsWith('../')) {
    const isShared = FOR_EXPLORER.some((part) => to === `../src/${part}` || to.startsWith(`../src/${part}/`))
    return isShared ? undefined : `explorer/ imports of src/ only ${FOR_EXPLORER.join(', ')}`
  }
  const [fromPart, toPart] = [explorerPart(from), explorerPart(to)]
  const [fromLevel, toLevel] = [EXPLORER_ORDER.indexOf(fromPart), EXPLORER_ORDER.indexOf(toPart)]
  if (fromLevel === -1) return `${fromPart} is not in the order of parts`
  if (toLevel === -1) return `${toPart} is not in the order of parts`
  if (fromLevel > toLevel) return `${toPart} is above ${fromPart}`
  const isOtherFeature = fromPart !== toPart && fromPart in EXPLORER_FEATURES && toPart in EXPLORER_FEATURES
  if (!isOtherFeature || EXPLORER_FEATURES[fromPart]!.includes(toPart)) return undefined
  return `${fromPart} does not name ${toPart} among the features that it imports`
}

function explorerPart(file: string): string {
  return /^\w+\/tables\.ts$/.test(file) ? 'database' : partOf(file)
}

/**
 * Returns every broken rule below `source`, one line each; by default those of src/.
 * @param ending the part of file names that imports leave out
 */
export function checkImports(
  source: string,
  rule: (edge: Import) => string | undefined = violation,
  ending = '',
): readonly string[] {
  const name = basename(source)
  const files = globSync('**/*.{ts,tsx}', { cwd: source }).map((file) => file.split(sep).join('/'))
  const edges = files
    .flatMap((file) => importsOf(file, readFileSync(join(source, file), 'utf8')))
    .map((edge) => ({ ...edge, to: `${edge.to}${ending}` }))
  const problems = edges.flatMap((edge) => {
    const why = existsSync(join(source, edge.to)) ? rule(edge) : 'no such file'
    return why === undefined ? [] : [`${name}/${edge.from} imports ${edge.to}: ${why}`]
  })
  const cycle = findCycle(edges)
  return cycle === undefined ? problems : [...problems, `a cycle: ${cycle.join(' → ')}`]
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  const problems = [
    ...checkImports(join(root, 'src')),
    ...checkImports(join(root, 'explorer'), explorerViolation),
    // Between the guest's files any import is right that makes no cycle.
    ...checkImports(join(root, 'assembly'), () => undefined, '.ts'),
  ]
  for (const problem of problems) console.error(problem)
  console.log(`imports: ${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
