import type { Generated } from 'kysely'

/* The tables of the faucet, beside the index: no node can tell again whom it still has to pay. As in services.ts. */

/** Coins that somebody gets. */
interface FaucetGrantTable {
  number: Generated<number>
  /** 20 bytes */
  address: Uint8Array
  /** acoin */
  amount: Uint8Array
  /** when it was asked for */
  created: number
  /** one of {@link GRANT_STATES} */
  state: string
  /** of the transaction that pays, from `sent` on */
  nonce: number | null
  /** the transaction's bytes, signed: they and no others are sent, until it is known that they can never be in a block */
  raw: Uint8Array | null
  hash: Uint8Array | null
  /** of the index when the transaction was signed: it is in no block up to there */
  signed_height: number | null
  /** of the block that it is in */
  height: number | null
  /** why it failed */
  problem: string | null
}

/** waiting: not signed yet; sent: its transaction may be in a block at any time; paid and failed: it is over. */
export const GRANT_STATES = ['waiting', 'sent', 'paid', 'failed'] as const

/** How much of a limit is used up. */
interface FaucetLimitTable {
  /** `address …`, `client …` or `all` */
  subject: string
  /** when its first grant of the last 24 hours was */
  since: number
  count: number
}

export interface FaucetTables {
  faucet_grant: FaucetGrantTable
  faucet_limit: FaucetLimitTable
}

export const FAUCET_MIGRATION = `
  create table faucet_grant (
    number NUMBERED primary key,
    address BYTES not null,
    amount BYTES not null,
    created INT not null,
    state text not null,
    nonce INT,
    raw BYTES,
    hash BYTES,
    signed_height INT,
    height INT,
    problem text
  );
  create index faucet_grant_state on faucet_grant (state, number);
  create table faucet_limit (
    subject text primary key,
    since INT not null,
    count INT not null
  ) KEYED;
  create index faucet_limit_since on faucet_limit (since);
`
