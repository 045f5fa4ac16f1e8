import type { Generated } from 'kysely'

/*
 * Contracts whose sources were sent, and the work on such requests. The node cannot tell them again, so they are part of services.ts.
 */

/** A contract whose code is that of known sources. */
interface VerifiedContractTable {
  /** in the order of their first verification */
  number: Generated<number>
  address: Uint8Array
  /** of its creation, as in the index; null: the index does not know it */
  position: number | null
  /** of the block of its creation, in which another contract at this address or another chain is noticed; null as `position` */
  block_hash: Uint8Array | null
  /** see {@link MATCH_LEVELS} */
  runtime_match: number
  creation_match: number
  /** grows with what is known: a lower one never takes the place of a higher one */
  score: number
  /** milliseconds since 1970 */
  verified_at: number
  /** name and ABI, which pages ask for often: gzip of JSON, verify/verifiedContracts.ts */
  interface: Uint8Array
  /** all that is known: gzip of JSON */
  content: Uint8Array
}

/** A request to verify a contract. */
interface VerificationJobTable {
  /** UUID */
  id: string
  address: Uint8Array
  /** milliseconds since 1970, as all times here */
  started_at: number
  /** when the explorer that works on it last said so: one that has ended says so no more */
  alive_at: number
  /** null: it waits, or is under way */
  finished_at: number | null
  /** that solc took */
  compile_ms: number | null
  /** see {@link MATCH_LEVELS}; null: not known, or failed */
  runtime_match: number | null
  creation_match: number | null
  /** why it failed, in the words of Sourcify */
  error_code: string | null
  error_message: string | null
}

/** A proxy and the contract whose code it runs. */
interface ProxyLinkTable {
  address: Uint8Array
  implementation: Uint8Array
  /** milliseconds since 1970 */
  linked_at: number
}

/** How much of a code is that of the sources, as Sourcify calls it. */
export const MATCH_LEVELS = { none: 0, match: 1, exact_match: 2 } as const

export interface VerificationTables {
  verified_contract: VerifiedContractTable
  verification_job: VerificationJobTable
  proxy_link: ProxyLinkTable
}

/** A migration of services.ts. */
export const VERIFICATION_MIGRATION = `
  create table verified_contract (
    number NUMBERED primary key,
    address BYTES not null unique,
    position INT,
    block_hash BYTES,
    runtime_match INT not null,
    creation_match INT not null,
    score INT not null,
    verified_at INT not null,
    interface BYTES not null,
    content BYTES not null
  );
  create table verification_job (
    id text not null primary key,
    address BYTES not null,
    started_at INT not null,
    alive_at INT not null,
    finished_at INT,
    compile_ms INT,
    runtime_match INT,
    creation_match INT,
    error_code text,
    error_message text
  );
  create index verification_job_started on verification_job (started_at);
`

/** A later migration of services.ts. */
export const PROXY_MIGRATION = `
  create table proxy_link (
    address BYTES not null primary key,
    implementation BYTES not null,
    linked_at INT not null
  ) KEYED;
`
