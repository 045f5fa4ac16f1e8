import { join } from 'node:path'

/** Where things are below HOMEDIR. */
export interface DataPaths {
  readonly homedir: string
  /** genesis and keys: what a backup needs */
  readonly config: string
  readonly genesis: string
  /** consensus key in CometBFT's format */
  readonly validatorKey: string
  /** identity towards peers in CometBFT's format */
  readonly nodeKey: string
  /** state, blocks and indexes; only the executor thread writes it */
  readonly db: string
  /** write-ahead log of consensus and signer; only the main thread writes it */
  readonly wal: string
  /** addresses of peers that the network learnt; may be deleted */
  readonly addressBook: string
  /** present while a reset is under way, or was interrupted */
  readonly resetMarker: string
  /** a directory that the running process holds locked */
  readonly lock: string
  /** process ID of whoever holds the lock, for people */
  readonly pid: string
}

export function dataPaths(homedir: string): DataPaths {
  const config = join(homedir, 'config')
  return {
    homedir,
    config,
    genesis: join(config, 'genesis.json'),
    validatorKey: join(config, 'priv_validator_key.json'),
    nodeKey: join(config, 'node_key.json'),
    db: join(homedir, 'db'),
    wal: join(homedir, 'wal'),
    addressBook: join(homedir, 'peers.json'),
    resetMarker: join(homedir, 'reset-under-way'),
    lock: join(homedir, 'lock'),
    pid: join(homedir, 'coind.pid'),
  }
}
