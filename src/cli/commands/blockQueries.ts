import { type Command, Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import { addNodeOption, connectNode, type NodeClient, type NodeOptions } from '../nodeClient.ts'
import { addOutputOption, formatAnswer, type OutputOption } from '../output.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { waitForBlock } from '../tx/waitForBlock.ts'

/*
 * What is asked of a node's consensus, by CometBFT's RPC: its status, blocks, and the block of a transaction.
 */

type Options = NodeOptions & OutputOption

export function addStatus(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const command = program.command('status').description('Ask a node for its status: its height, whether it catches up')
  addOutputOption(addNodeOption(command)).action(async (options: Options) => {
    terminal.print(formatAnswer(await connectNode(options, terminal).comet('status', {}), options))
  })
}

/** Adds the queries about blocks below `coind query`. */
export function addBlockQueries(root: Command, terminal: Terminal): void {
  const add = (name: string, description: string): Command =>
    addOutputOption(addNodeOption(root.command(name).description(description)))

  add('block', 'A block, by its height or hash (default: the newest)')
    .argument('[block]', 'height, or hash')
    .addOption(new Option('--type <type>', 'what the argument is (default: as it looks)').choices(['height', 'hash']))
    .action(async (block: string | undefined, options: Options & { readonly type?: 'height' | 'hash' }) => {
      const client = connectNode(options, terminal)
      const height = await heightOf(block, options.type, client)
      const answer = await client.get(`/cosmos/base/tendermint/v1beta1/blocks/${height}`)
      terminal.print(formatAnswer((answer as { readonly block: Json }).block, options))
    })

  add('block-results', 'What the transactions of a block did (default: the newest)')
    .argument('[height]', 'height of the block')
    .action(async (height: string | undefined, options: Options) => {
      const params = height === undefined ? {} : { height: wholeNumber(height) }
      terminal.print(formatAnswer(await connectNode(options, terminal).comet('block_results', params), options))
    })

  add('blocks', 'Blocks by their events')
    .requiredOption('--query <query>', 'such as "block.height > 5"')
    .option('--page <n>', 'number of the page', '1')
    .option('--limit <n>', 'blocks of a page', '30')
    .option('--order_by <order>', 'asc or desc', 'asc')
    .action(async (options: Options & Readonly<Record<'query' | 'page' | 'limit' | 'order_by', string>>) => {
      const { query, page, limit, order_by } = options
      const params = { query, page: wholeNumber(page), per_page: wholeNumber(limit), order_by }
      terminal.print(formatAnswer(await connectNode(options, terminal).comet('block_search', params), options))
    })

  add('wait-tx', 'Wait until a transaction is in a block, and print its result')
    .alias('event-query-tx-for')
    .argument('<hash>', 'of the transaction')
    .action(async (hash: string, options: Options) => {
      const client = connectNode(options, terminal)
      terminal.print(formatAnswer(await waitForBlock(hash, client, terminal.now), options))
    })
}

/** The height that a text means, or `latest`. */
async function heightOf(
  block: string | undefined,
  type: 'height' | 'hash' | undefined,
  client: NodeClient,
): Promise<string> {
  if (block === undefined) return 'latest'
  const hash = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(block)?.[1]
  if (type === 'height' || (type === undefined && hash === undefined)) return wholeNumber(block)
  if (hash === undefined) throw new ConfigError(`${block} is not the hash of a block: expected 64 hex digits`)
  const found = await client.comet('block_by_hash', { hash: Buffer.from(hash, 'hex').toString('base64') })
  const { block: at } = found as { readonly block: { readonly header: { readonly height: string } } | null }
  if (at === null) throw new ConfigError(`the node has no block ${block}`)
  return at.header.height
}

/** @throws ConfigError when the text is not one */
function wholeNumber(text: string): string {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return text
  throw new ConfigError(`${text} is not a whole number from 1`)
}
