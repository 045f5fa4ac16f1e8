import { type Command, InvalidArgumentError, Option } from 'commander'
import type { NativeQuery, QueryTable } from '../../rpc/native/query.ts'
import { addNodeOption, connectNode, type NodeOptions } from '../nodeClient.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

/** Options of paged queries and the names that the gateway has for them. */
const PAGE_OPTIONS = [
  ['--limit <n>', 'pagination.limit', 'entries of a page (default: 100)'],
  ['--offset <n>', 'pagination.offset', 'entries to leave out'],
  ['--page-key <base64>', 'pagination.key', 'next_key of the page before'],
  ['--count-total', 'pagination.count_total', 'count all entries'],
  ['--reverse', 'pagination.reverse', 'last entries first'],
] as const

/** Adds `coind query`: one command for each entry of the table of queries. */
export function addQuery(program: Command, _node: NodeCommands, terminal: Terminal, queries: QueryTable): void {
  const root = program.command('query').description('Ask a node about the native layer; the answer is JSON')
  const groups = new Map<string, Command>()
  for (const entry of queryCommands(queries)) {
    const group = groups.get(entry.group) ?? root.command(entry.group).description(`Queries of ${entry.group}`)
    groups.set(entry.group, group)
    addEntry(group, entry, terminal)
  }
}

function addEntry(group: Command, entry: QueryCommand, terminal: Terminal): void {
  const command = group.command(entry.name).description(`GET ${entry.template}`)
  for (const name of entry.argumentNames) command.argument(`<${kebab(name)}>`)
  const fields = new Map<string, string>()
  const addField = (flags: string, field: string, description: string): void => {
    const option = new Option(flags, description)
    // Two services have fields of their own with the name of a page option.
    if (fields.has(option.attributeName())) return
    fields.set(option.attributeName(), field)
    command.addOption(option)
  }
  for (const name of entry.optionNames) addField(`--${kebab(name)} <value>`, name, `field ${name} of the request`)
  if (entry.isPaged) for (const [flags, field, description] of PAGE_OPTIONS) addField(flags, field, description)
  // A query may have a field of that name itself.
  if (!fields.has('height')) {
    command.addOption(new Option('--height <n>', 'state after this block (default: the newest)').argParser(readHeight))
  }
  addNodeOption(command).action(async (...args: unknown[]) => {
    const options = command.opts<NodeOptions & Readonly<Record<string, unknown>>>()
    const values = args.slice(0, entry.argumentNames.length) as string[]
    const given = [...fields].flatMap(([key, field]): [string, string][] =>
      options[key] === undefined ? [] : [[field, String(options[key])]],
    )
    const height = fields.has('height') ? undefined : (options['height'] as number | undefined)
    const client = connectNode(options, terminal)
    const answer = await client.get(requestPath(entry, values, new Map(given)), height)
    terminal.print(`${JSON.stringify(answer, null, 2)}\n`)
  })
}

function readHeight(text: string): number {
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new InvalidArgumentError('It may hold the number of a block.')
  return Number(text)
}

/** A query as a command: `coind query <group> <name> <arguments…>`. */
interface QueryCommand {
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

/** field of a request for a page of entries */
const PAGE = 'pagination'
/** Versions of a package, the preferred first: where two of them have the same query, one of these becomes a command. */
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
  // Ethermint's names are for tools that know no others: the same queries have commands by those of cosmos/evm.
  if (binding === undefined || query.path.startsWith('/ethermint.')) return undefined
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
