import { type Command, InvalidArgumentError, Option } from 'commander'
import type { QueryTable } from '../../rpc/native/query.ts'
import { addNodeOption, connectNode, type NodeOptions } from '../nodeClient.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { kebab, type QueryCommand, queryCommands, requestPath } from '../query/queryCommands.ts'

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
    // Two of a service's own fields are called like those of a page.
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
