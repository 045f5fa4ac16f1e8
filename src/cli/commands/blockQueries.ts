import { type Command, Option } from 'commander'
import { ConfigError } from '../../config/configError.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import { addNodeOption, connectNode, type NodeClient, type NodeOptions } from '../nodeClient.ts'
import { addOutputOption, formatAnswer, type OutputOption } from '../output.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { waitForBlock } from '../tx/waitForBlock.ts'
import { wholeNumber } from '../wholeNumber.ts'

/*
 * What is asked of a node's consensus, by CometBFT's RPC: its status, blocks, and the block of a transaction.
 */

type Options = NodeOptions & OutputOption

interface BlockSearch {
  readonly query: string
  readonly page: number
  readonly limit: number
  readonly order_by: string
}

export function addStatus(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('status')
    .description('Show the status of a node: its height and whether it is catching up')
  addOutputOption(addNodeOption(command)).action(async (options: Options) => {
    terminal.print(formatAnswer(await connectNode(options, terminal).comet('status', {}), options))
  })
}

/** Adds the queries about blocks below `coind query`. */
export function addBlockQueries(root: Command, terminal: Terminal): void {
  const add = (name: string, description: string): Command =>
    addOutputOption(addNodeOption(root.command(name).description(description)))

  add('block', 'Show a block by height or hash (default: the newest)')
    .argument('[block]', 'height, or hash', readBlock)
    .addOption(new Option('--type <type>', 'type of the argument (default: detected)').choices(['height', 'hash']))
    .action(async (block: NamedBlock | undefined, options: Options & { readonly type?: 'height' | 'hash' }) => {
      const client = connectNode(options, terminal)
      const height = await heightOf(block, options.type, client)
      const answer = await client.get(`/cosmos/base/tendermint/v1beta1/blocks/${height}`)
      terminal.print(formatAnswer((answer as { readonly block: Json }).block, options))
    })

  add('block-results', 'Show the results of the transactions of a block (default: the newest)')
    .argument('[height]', 'height of the block', wholeNumber(1))
    .action(async (height: number | undefined, options: Options) => {
      const params = height === undefined ? {} : { height: String(height) }
      terminal.print(formatAnswer(await connectNode(options, terminal).comet('block_results', params), options))
    })

  add('blocks', 'Search for blocks by their events')
    .requiredOption('--query <query>', 'such as "block.height > 5"')
    .option('--page <n>', 'page number', wholeNumber(1), 1)
    .option('--limit <n>', 'blocks per page', wholeNumber(1), 30)
    .option('--order_by <order>', 'asc or desc', 'asc')
    .action(async (options: Options & BlockSearch) => {
      const { query, page, limit, order_by } = options
      const params = { query, page: String(page), per_page: String(limit), order_by }
      terminal.print(formatAnswer(await connectNode(options, terminal).comet('block_search', params), options))
    })

  add('wait-tx', 'Wait until a transaction is in a block, and print its result')
    .alias('event-query-tx-for')
    .argument('<hash>', 'hash of the transaction')
    .action(async (hash: string, options: Options) => {
      const client = connectNode(options, terminal)
      terminal.print(formatAnswer(await waitForBlock(hash, client, terminal.now), options))
    })
}

/** A block by its height, or by its hash: 64 hex digits. */
type NamedBlock = { readonly height: number } | { readonly hash: string }

function readBlock(text: string): NamedBlock {
  const hash = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text)?.[1]
  return hash === undefined ? { height: wholeNumber(1)(text) } : { hash }
}

/** Returns the block's height, or `latest`. @throws ConfigError when the type is wrong, or the node does not have the block */
async function heightOf(
  block: NamedBlock | undefined,
  type: 'height' | 'hash' | undefined,
  client: NodeClient,
): Promise<string> {
  if (block === undefined) return 'latest'
  if (type !== undefined && !(type in block)) throw new ConfigError(`the argument is not a block ${type}`)
  if ('height' in block) return String(block.height)
  const found = await client.comet('block_by_hash', { hash: Buffer.from(block.hash, 'hex').toString('base64') })
  const { block: at } = found as { readonly block: { readonly header: { readonly height: string } } | null }
  if (at === null) throw new ConfigError(`the node has no block ${block.hash}`)
  return at.header.height
}
