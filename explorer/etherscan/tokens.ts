import { bytesToHex, EMPTY_BYTES } from '../../src/primitives/bytes.ts'
import { viewAmount } from '../api/views.ts'
import { TOKEN_KINDS } from '../tokens/tables.ts'
import { type Action, actionsOf, type EtherscanContext, failed, listed, ok } from './action.ts'

const KIND_NAMES: Readonly<Record<number, string>> = {
  [TOKEN_KINDS.erc20]: 'ERC20',
  [TOKEN_KINDS.erc721]: 'ERC721',
  [TOKEN_KINDS.erc1155]: 'ERC1155',
}
const NO_TOKEN = 'Error! No such token in the index'

function findToken(queries: EtherscanContext['queries'], address: Uint8Array) {
  return queries
    .selectFrom('token')
    .leftJoin('token_name', 'token_name.address', 'token.address')
    .select(['token.kind', 'token.holders', 'token.supply', 'name', 'symbol', 'decimals'])
    .where('token.address', '=', address)
    .executeTakeFirst()
}

/** Fields in which Etherscan shows what a token's owners have reported; here they are empty, because there are no such reports. */
const tokeninfo: Action = async (parameters, { queries }) => {
  const address = parameters.address('contractaddress')
  const token = await findToken(queries, address)
  if (token === undefined) return failed(NO_TOKEN)
  return ok([
    {
      contractAddress: bytesToHex(address),
      tokenName: token.name ?? '',
      symbol: token.symbol ?? '',
      divisor: String(token.decimals ?? 0),
      tokenType: KIND_NAMES[token.kind]!,
      totalSupply: viewAmount(token.supply),
      blueCheckmark: 'false',
      description: '',
      website: '',
      email: '',
      tokenPriceUSD: '0',
    },
  ])
}

/** Holders, those with the most first. */
const tokenholderlist: Action = async (parameters, { queries }) => {
  const address = parameters.address('contractaddress')
  const { skip, count } = parameters.part()
  const rows = await queries
    .selectFrom('token_balance')
    .select(['holder', 'amount'])
    .where('token', '=', address)
    .where('token_id', '=', EMPTY_BYTES)
    .orderBy('amount', 'desc')
    .orderBy('holder', 'desc')
    .offset(skip)
    .limit(count)
    .execute()
  const result = rows.map(({ holder, amount }) => ({
    TokenHolderAddress: bytesToHex(holder),
    TokenHolderQuantity: viewAmount(amount),
  }))
  return listed(result, 'No data found')
}

const tokenholdercount: Action = async (parameters, { queries }) => {
  const token = await findToken(queries, parameters.address('contractaddress'))
  return ok(String(token?.holders ?? 0))
}

/** Also an action of the module `stats`. */
export const tokensupply: Action = async (parameters, { queries }) => {
  const token = await findToken(queries, parameters.address('contractaddress'))
  return token === undefined ? failed(NO_TOKEN) : ok(viewAmount(token.supply))
}

/** The module `token`. */
export const TOKEN_ACTIONS = actionsOf({ tokeninfo, tokenholderlist, tokenholdercount })
