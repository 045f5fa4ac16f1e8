import { bytes, defineTable, int, nullable, text } from '../database/defineTable.ts'

export const TOKEN_TABLES = {
  /** A contract whose logs report transfers of tokens. Its name is in the table `token_name`. */
  token: defineTable({
    since: '0003_tokens',
    columns: {
      address: bytes,
      /** see {@link TOKEN_KINDS}: by its first transfer */
      kind: int,
      /** 0: its transfers do not add up, or the index lacks the oldest ones; balances may differ from what the contract says */
      is_exact: int,
      /** accounts with a balance */
      holders: int,
      transfers: int,
      /** minted minus burnt, all ids together */
      supply: bytes,
      /** of its newest transfer */
      position: int,
    },
    key: ['address'],
    indexes: {
      token_holders: { columns: ['holders', 'address'] },
    },
  }),
  token_transfer: defineTable({
    since: '0003_tokens',
    columns: {
      position: int,
      /** order within the position */
      ordinal: int,
      token: bytes,
      /** null: minted */
      sender: nullable(bytes),
      /** null: burnt */
      recipient: nullable(bytes),
      /** 1 for an ERC-721 token */
      amount: bytes,
      /** 32 bytes; empty for an ERC-20 token */
      token_id: bytes,
    },
    key: ['position', 'ordinal'],
    indexes: {
      token_transfer_token: { columns: ['token', 'position', 'ordinal'] },
      token_transfer_sender: { columns: ['sender', 'position', 'ordinal'] },
      token_transfer_recipient: { columns: ['recipient', 'position', 'ordinal'] },
    },
  }),
  /** Balances of tokens above zero. */
  token_balance: defineTable({
    since: '0003_tokens',
    columns: {
      /** token, holder and id, one after the other: one column is quicker to ask for than three */
      key: bytes,
      token: bytes,
      /** 32 bytes; empty: of all ids together, which every holder has a row of */
      token_id: bytes,
      holder: bytes,
      amount: bytes,
    },
    key: ['key'],
    indexes: {
      token_balance_amount: { columns: ['token', 'token_id', 'amount', 'holder'] },
      token_balance_holder: { columns: ['holder', 'token_id', 'token'] },
    },
  }),
  /** The name that a token's contract returns, in a form that pages can show (tokenNames.ts). Null: the contract returns none. */
  token_name: defineTable({
    since: '0003_tokens',
    columns: {
      address: bytes,
      /** 0: the contract was not asked yet; the row is made with the token */
      is_asked: int,
      name: nullable(text),
      symbol: nullable(text),
      decimals: nullable(int),
      /** lower case, as bytes, which every database sorts alike */
      name_key: bytes,
      symbol_key: bytes,
    },
    key: ['address'],
    indexes: {
      token_name_is_asked: { columns: ['is_asked', 'address'] },
      token_name_name: { columns: ['name_key'] },
      token_name_symbol: { columns: ['symbol_key'] },
    },
  }),
} as const

export const TOKEN_KINDS = { erc20: 0, erc721: 1, erc1155: 2 } as const
