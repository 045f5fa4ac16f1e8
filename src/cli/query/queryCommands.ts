import type { NativeQuery, QueryTable } from '../../rpc/native/query.ts'

/** A query as a command: `coind query <group> <name> <arguments…>`. */
export interface QueryCommand {
  readonly group: string
  readonly name: string
  /** fields of the request that its path holds, in order */
  readonly argumentNames: readonly string[]
  /** fields that may be given as options */
  readonly optionNames: readonly string[]
  readonly isPaged: boolean
  /** e.g. `/cosmos/bank/v1beta1/balances/{address}` */
  readonly template: string
}

const PAGE = 'pagination'
/** Versions of a package, the preferred first: of two that offer the same query one is a command. */
const VERSION_ORDER = ['v1', 'v1beta1']

/** Every query that REST offers under GET, in order of group and name. */
export function queryCommands(queries: QueryTable): readonly QueryCommand[] {
  const commands = new Map<string, QueryCommand & { readonly rank: number }>()
  for (const query of queries.values()) {
    const command = commandOf(query)
    if (command === undefined) continue
    const key = `${command.group} ${command.name}`
    const other = commands.get(key)
    if (other === undefined || command.rank < other.rank) commands.set(key, command)
  }
  return [...commands.values()].sort((a, b) => compare(a.group, b.group) || compare(a.name, b.name))
}

/** The path and query string of a command's request. */
export function requestPath(
  { template, argumentNames }: Pick<QueryCommand, 'template' | 'argumentNames'>,
  values: readonly string[],
  options: ReadonlyMap<string, string>,
): string {
  const path = argumentNames.reduce(
    (text, name, index) => text.replace(placeholder(name), encodeSegments(values[index]!)),
    template,
  )
  const query = new URLSearchParams([...options])
  return query.size === 0 ? path : `${path}?${query}`
}

function commandOf(query: NativeQuery): (QueryCommand & { readonly rank: number }) | undefined {
  const binding = query.rest.find(({ method }) => method === 'GET')
  if (binding === undefined) return undefined
  const [service = '', method = ''] = query.path.slice(1).split('/')
  const parts = service.split('.').slice(0, -1)
  const version = parts.at(-1) ?? ''
  const argumentNames = [...binding.template.matchAll(/\{([a-z0-9_.]+)(?:=\*\*)?\}/g)].map(([, name]) => name!)
  const fields = query.request.fields.map(({ jsonName }) => jsonName)
  return {
    group: parts.at(-2) ?? service,
    name: kebab(method.replace(/^Get/, '')),
    argumentNames,
    optionNames: fields.filter((name) => name !== PAGE && !argumentNames.some((used) => used.split('.')[0] === name)),
    isPaged: fields.includes(PAGE),
    template: binding.template,
    rank: VERSION_ORDER.includes(version) ? VERSION_ORDER.indexOf(version) : VERSION_ORDER.length,
  }
}

function placeholder(name: string): RegExp {
  return new RegExp(`\\{${name.replaceAll('.', '\\.')}(?:=\\*\\*)?\\}`)
}

/** Slashes stay: a trace of a denomination holds them. */
function encodeSegments(value: string): string {
  return value.split('/').map(encodeURIComponent).join('/')
}

/** `ValidatorDelegations` -> `validator-delegations` */
export function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
