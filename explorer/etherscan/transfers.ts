import { ZERO_ADDRESS } from '../../src/primitives/address.ts'
import { bytesToBigInt, bytesToHex, equalBytes } from '../../src/primitives/bytes.ts'
import { viewAmount } from '../api/views.ts'
import { TOKEN_KINDS } from '../tokens/tables.ts'
import type { EtherscanContext } from './action.ts'
import { type HeightRange, type ListPart, RequestError } from './parameters.ts'
import { boundsOf, newestHeight, partBetween } from './places.ts'
import { transactionFacts } from './transactionFacts.ts'
import { merge, walk } from './walk.ts'

/** The account or token, and the kind of token. */
interface TransferFilter {
  readonly kind: number
  readonly address: Uint8Array | undefined
  readonly token: Uint8Array | undefined
}

/** Transfers of tokens as the actions tokentx, tokennfttx and token1155tx write them. */
export async function tokenTransfersOf(
  { queries, functionNames }: Pick<EtherscanContext, 'queries' | 'functionNames'>,
  { kind, address, token }: TransferFilter,
  heights: HeightRange,
  part: ListPart,
): Promise<readonly unknown[]> {
  if (address === undefined && token === undefined) {
    throw new RequestError('Error! Missing address or contractaddress')
  }
  const along = (column: 'sender' | 'recipient' | 'token', value: Uint8Array, own: ListPart) =>
    walk(
      (bounds, limit, direction) => {
        const rows = partBetween(queries, 'token_transfer', bounds, limit, direction).where(column, '=', value)
        return queries
          .selectFrom(rows.as('token_transfer'))
          .innerJoin('token', 'token.address', 'token_transfer.token')
          .leftJoin('token_name', 'token_name.address', 'token_transfer.token')
          .selectAll('token_transfer')
          .select(['token.kind', 'name', 'symbol', 'decimals'])
          .orderBy('token_transfer.position', direction)
          .orderBy('token_transfer.ordinal', direction)
          .execute()
      },
      boundsOf(heights),
      own,
      (row) => row.kind === kind && (token === undefined || equalBytes(row.token, token)),
    )
  // Two walks along two indexes, merged: an `or` of both columns would read either index in full.
  const all = { ...part, skip: 0, count: part.skip + part.count }
  const rows =
    address === undefined
      ? await along('token', token!, part)
      : merge([await along('sender', address, all), await along('recipient', address, all)], part)
  const facts = await transactionFacts(
    queries,
    rows.map(({ position }) => position),
  )
  const [newest, nameOf] = await Promise.all([newestHeight(queries), functionNames([...facts.values()])])
  return rows.map((row) => {
    const own = facts.get(row.position)!
    return {
      blockNumber: String(own.height),
      timeStamp: String(own.time),
      hash: own.hash,
      nonce: String(own.nonce),
      blockHash: own.blockHash,
      from: bytesToHex(row.sender ?? ZERO_ADDRESS),
      contractAddress: bytesToHex(row.token),
      to: bytesToHex(row.recipient ?? ZERO_ADDRESS),
      ...amountOf(kind, row.amount, row.token_id),
      tokenName: row.name ?? '',
      tokenSymbol: row.symbol ?? '',
      ...(kind === TOKEN_KINDS.erc1155 ? {} : { tokenDecimal: String(row.decimals ?? 0) }),
      transactionIndex: String(own.index),
      gas: String(own.gas),
      gasPrice: own.gasPrice,
      gasUsed: String(own.gasUsed),
      cumulativeGasUsed: String(own.cumulativeGasUsed),
      input: 'deprecated',
      methodId: own.to === '' ? '0x' : own.input.slice(0, 10),
      functionName: nameOf(own),
      confirmations: String(newest - own.height + 1),
    }
  })
}

function amountOf(kind: number, amount: Uint8Array, tokenId: Uint8Array): Readonly<Record<string, string>> {
  if (kind === TOKEN_KINDS.erc20) return { value: viewAmount(amount) }
  const tokenID = (tokenId.length === 0 ? 0n : bytesToBigInt(tokenId)).toString()
  return kind === TOKEN_KINDS.erc721 ? { tokenID } : { tokenID, tokenValue: viewAmount(amount) }
}
