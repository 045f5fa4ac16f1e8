import { type Command, Option } from 'commander'
import { BECH32_OPERATOR } from '../../primitives/address.ts'
import type { NativeQuery, QueryTable } from '../../rpc/cosmos/queryPort.ts'
import { addNodeOption, connectNode, type NodeOptions } from '../nodeClient.ts'
import { addOutputOption, formatAnswer, type OutputOption } from '../output.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { ENUM_PREFIXES, SDK_GROUPS, SDK_QUERIES, type SdkQuery } from '../sdkQueries.ts'
import { addSpelling } from '../spelling.ts'
import { wholeNumber } from '../wholeNumber.ts'
import { addBlockQueries } from './blockQueries.ts'

/** Options of paged queries and the names that the gateway has for them. */
const PAGE_OPTIONS = [
  ['--limit <n>', 'pagination.limit', 'entries per page (default: 100)'],
  ['--offset <n>', 'pagination.offset', 'entries to skip'],
  ['--page-key <base64>', 'pagination.key', 'next_key of the previous page'],
  ['--count-total', 'pagination.count_total', 'count all entries'],
  ['--reverse', 'pagination.reverse', 'reverse order'],
] as const

/** Adds `coind query`: one command for each entry of the table of queries, those of the SDK's names, and those about blocks. */
export function addQuery(program: Command, _node: NodeCommands, terminal: Terminal, queries: QueryTable): void {
  const root = program
    .command('query')
    .alias('q')
    .description('Query the native layer of a node; prints JSON')
    .enablePositionalOptions()
  const groups = new Map<string, Command>()
  const groupOf = (name: string): Command => {
    const group = groups.get(name) ?? root.command(name).description(`Queries of ${name}`).enablePositionalOptions()
    const alias = SDK_GROUPS[name]
    if (alias !== undefined && !groups.has(name)) group.alias(alias)
    groups.set(name, group)
    return group
  }
  const entries = new Map(queryCommands(queries).map((entry) => [`${entry.group} ${entry.name}`, entry]))
  const taken = new Set(SDK_QUERIES.map(({ command }) => command))
  for (const [command, entry] of entries) {
    if (!taken.has(command))
      addSpelled(groupOf(entry.group).command(entry.name), { command, query: command }, entries, terminal)
  }
  for (const spelling of SDK_QUERIES) {
    const [first = '', name] = spelling.command.split(' ')
    const known = groups.get(first)
    // A group may be a query itself, `coind query tx HASH`: what follows the name of one in the group is that one's.
    const command = name === undefined ? (known ?? root.command(first)) : groupOf(first).command(name)
    addSpelled(command, spelling, entries, terminal)
  }
  addBlockQueries(root, terminal)
}

/** Adds the arguments and options of a query to a command, and the request as its action. */
function addSpelled(
  command: Command,
  spelling: SdkQuery,
  entries: ReadonlyMap<string, QueryCommand>,
  terminal: Terminal,
): void {
  const entry = entries.get(spelling.query)!
  const narrowed = spelling.narrowed === undefined ? undefined : entries.get(spelling.narrowed)!
  command.description(`GET ${(narrowed ?? entry).template}`)
  const positional = (spelling.arguments ?? entry.argumentNames).map((text) => ({
    field: text.replace('?', ''),
    isOptional: text.endsWith('?'),
  }))
  const fields = new Map<string, string>()
  const addField = (flags: string, field: string, description: string): void => {
    const option = new Option(flags, description)
    // Two services have fields of their own with the name of a page option.
    if (fields.has(option.attributeName())) return
    fields.set(option.attributeName(), field)
    command.addOption(option)
    const other = spelling.options?.[field]
    if (other !== undefined) addSpelling(command, option, other)
  }
  for (const { field, isOptional } of positional) {
    command.argument(isOptional ? `[${kebab(field)}]` : `<${kebab(field)}>`)
    if (isOptional) addField(`--${kebab(field)} <value>`, field, `field ${field} of the request`)
  }
  const optional = entry.optionNames.filter((name) => !positional.some(({ field }) => field === name))
  for (const name of optional) addField(`--${kebab(name)} <value>`, name, `field ${name} of the request`)
  if (entry.isPaged) for (const [flags, field, description] of PAGE_OPTIONS) addField(flags, field, description)
  // A query may itself have a field with this name.
  if (!fields.has('height')) {
    command.addOption(
      new Option('--height <n>', 'query the state after this block (default: the newest)').argParser(wholeNumber(1)),
    )
  }
  addOutputOption(addNodeOption(command)).action(async () => {
    const options = command.opts<NodeOptions & OutputOption & Readonly<Record<string, unknown>>>()
    const values = new Map(Object.entries(spelling.defaults ?? {}))
    for (const [key, field] of fields) if (options[key] !== undefined) values.set(field, String(options[key]))
    const names = positional.map(({ field }) => field)
    for (const [field, value] of arranged(names, command.args)) values.set(field, value)
    const isNarrow = narrowed !== undefined && positional.every(({ field }) => values.has(field))
    const height = fields.has('height') ? undefined : (options['height'] as number | undefined)
    const client = connectNode(options, terminal)
    const answer = await client.get(pathOf(isNarrow ? narrowed : entry, values), height)
    terminal.print(formatAnswer(answer, options))
  })
}

/** Arguments by field. Of a delegator and a validator the addresses tell which is which. */
function arranged(fields: readonly string[], values: readonly string[]): readonly (readonly [string, string])[] {
  const pairs = values.map((value, index) => [fields[index]!, value] as const)
  const isSwapped = pairs.some(([field, value]) => field.startsWith('delegator') && isOperator(value))
  if (!isSwapped || pairs.length !== 2) return pairs
  return [
    [pairs[0]![0], pairs[1]![1]],
    [pairs[1]![0], pairs[0]![1]],
  ]
}

function isOperator(text: string): boolean {
  return text.startsWith(`${BECH32_OPERATOR}1`)
}

/** Returns the path and query string of a request with these fields. */
function pathOf(entry: QueryCommand, values: ReadonlyMap<string, string>): string {
  const given = entry.argumentNames.map((name) => values.get(name) ?? '')
  const options = [...values]
    .filter(([field]) => !entry.argumentNames.includes(field))
    .map(([field, value]): [string, string] => [field, enumValue(field, value)])
  return requestPath(entry, given, new Map(options))
}

function enumValue(field: string, value: string): string {
  const prefix = ENUM_PREFIXES[field]
  if (prefix === undefined || /^\d*$/.test(value)) return value
  const name = value.toUpperCase().replaceAll('-', '_')
  return name.startsWith(prefix) ? name : `${prefix}${name}`
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

/** Returns every query that REST offers under GET, in order of group and name. */
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

/** Returns the path and query string of a command's request. */
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

/** Converts `ValidatorDelegations` to `validator-delegations`. */
export function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
