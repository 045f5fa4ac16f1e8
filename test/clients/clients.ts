import type { Client } from './client.ts'

const NPM: Pick<Client, 'needs' | 'install' | 'run'> = {
  needs: ['npm'],
  install: [['npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']],
  run: ['node', 'main.js'],
}
const PYTHON: Pick<Client, 'needs' | 'install' | 'run'> = {
  needs: ['python3'],
  install: [
    ['python3', '-m', 'venv', 'environment'],
    ['environment/bin/pip', 'install', '--quiet', '--requirement', 'requirements.txt'],
  ],
  run: ['environment/bin/python', 'main.py'],
}
const GO: Pick<Client, 'needs' | 'install' | 'isCompiled' | 'run'> = {
  needs: ['go'],
  isCompiled: true,
  install: [['go', 'build', '-o', 'client', '.']],
  run: ['./client'],
}
const RUST: Pick<Client, 'needs' | 'install' | 'isCompiled' | 'run'> = {
  needs: ['cargo'],
  isCompiled: true,
  install: [['cargo', 'build', '--quiet']],
  run: ['target/debug/client'],
}
const JAVA: Pick<Client, 'needs' | 'install' | 'isCompiled' | 'run'> = {
  needs: ['mvn', 'javac'],
  isCompiled: true,
  install: [['mvn', '--quiet', '--batch-mode', 'compile', 'dependency:copy-dependencies']],
  run: ['java', '-cp', 'target/classes:target/dependency/*', 'Main'],
}

/** In the order in which they run: what needs little first. */
export const CLIENTS: readonly Client[] = [
  {
    name: 'cast',
    version: 'cast of Foundry (@foundry-rs/cast, the version of package.json)',
    does: 'run, trace, call --trace, rpc trace_transaction, access-list, proof, storage, logs of transactions of the chain',
    needs: ['bash', 'jq'],
    install: [],
    run: ['bash', 'main.sh'],
  },
  {
    name: 'go-ethereum',
    version: 'go-ethereum 1.17.10 (ethclient, gethclient)',
    does: 'SimulateV1, SubscribeTransactionReceipts, SubscribeNewHead, a sent transaction with its receipt and logs, call, access list, proof, traces',
    ...GO,
  },
  {
    name: 'cosmos-sdk',
    version: 'cosmos-sdk 0.53.4 (generated gRPC clients)',
    does: 'queries of bank, staking, distribution, slashing, mint, gov, node and CometBFT services; heights in and out; Simulate, BroadcastTx, GetTx, GetTxsEvent, GetBlockWithTxs, TxDecode, TxEncode; a transaction of the EVM',
    ...GO,
  },
  {
    name: 'cometbft',
    version: 'CometBFT 0.38.26 (rpc/client/http, light)',
    does: 'blocks, commits, validators, searches and proofs; a light client from block 1 to the head; events of blocks, rounds, steps, proposals and votes',
    ...GO,
  },
  {
    name: 'alloy',
    version: 'alloy 2.5.0',
    does: 'blocks, logs, a proof, a sent transaction, eth_simulateV1, overrides, traces; sixty watchers of blocks by filters and as many subscriptions',
    ...RUST,
  },
  {
    name: 'cosmrs',
    version: 'cosmrs 0.22.0 with tendermint-rs 0.40.4',
    does: 'hashes of headers and validator sets, a proof of a transaction; a transfer by Simulate and broadcast_tx_sync with its event over a WebSocket; queries over gRPC',
    ...RUST,
  },
  {
    name: 'web3j',
    version: 'web3j 4.12.3',
    does: 'blocks, receipts, calls, a custom error, transactions of two types; sixty-four filters, streams of blocks and logs, subscriptions over a WebSocket',
    ...JAVA,
  },
  {
    name: 'grpcurl',
    version: 'grpcurl 1.9.3',
    does: 'list, describe and call by server reflection, without any file of protobuf',
    needs: ['go', 'bash'],
    isCompiled: true,
    install: [['bash', 'install.sh']],
    run: ['bash', 'main.sh'],
  },
  {
    name: 'evmd',
    version: 'evmd of cosmos/evm 0.7',
    does: 'status, query block, query tx and query txs of both kinds of transactions, query evm params, tx evm raw, tx decode, tx encode, tx broadcast',
    needs: ['bash', 'jq'],
    variable: 'EVMD',
    install: [],
    run: ['bash', 'main.sh'],
  },
  {
    name: 'web3py',
    version: 'web3.py 8.0.0',
    does: 'blocks, receipts, a sent transaction, a contract, filters; AsyncWeb3 over a WebSocket with subscriptions; traces',
    ...PYTHON,
  },
  {
    name: 'ethereum-etl',
    version: 'ethereum-etl 2.4.2',
    does: 'exports blocks, transactions, receipts, logs, tokens’ transfers and traces (trace_ and geth’s), whose numbers are those of the chain',
    ...PYTHON,
    // Its parser of ABIs is older than Python 3.11.
    install: [
      ...PYTHON.install,
      ['environment/bin/pip', 'install', '--quiet', '--no-deps', 'parsimonious==0.10.0', 'regex==2026.1.15'],
    ],
  },
  {
    name: 'titanoboa',
    version: 'titanoboa 0.2.8 with Vyper 0.4.3',
    does: 'deploys and calls contracts in Vyper and one of a blueprint, reads events and reasons of reverts; forks the chain',
    ...PYTHON,
  },
  {
    name: 'cryo',
    version: 'cryo 0.3.2',
    does: 'extracts blocks, transactions, logs, transfers, contracts, traces and differences of the state to files, whose rows are those of the chain',
    ...PYTHON,
    check: ['python3', '-c', 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))'],
    otherwise: 'its packages are for Python 3.10 to 3.12',
  },
  {
    name: 'alto',
    version: '@pimlico/alto 0.0.20',
    does: 'a bundler that includes UserOperations through EntryPoint 0.7 of the genesis',
    ...NPM,
  },
  {
    name: 'ponder',
    version: 'ponder 0.16.10',
    does: 'indexes a token from its first block: events with receipts and traces of calls; each transfer that was sent is among them',
    ...NPM,
  },
  {
    name: 'envio',
    version: 'envio 2.32.12',
    does: 'indexes a token from its first block by RPC into PostgreSQL; its table has the transfers of the chain and no others',
    ...NPM,
    needsPostgres: true,
  },
  {
    name: 'subsquid',
    version: '@subsquid/evm-processor 1.27.3',
    does: 'reads logs, transactions, traces and state diffs of all blocks over RPC alone',
    ...NPM,
  },
  {
    name: 'sdk-ts',
    version: '@injectivelabs/sdk-ts 1.20.50',
    does: 'queries of bank, staking, distribution, mint, gov and CometBFT services and a transfer over gRPC-Web in its text form',
    ...NPM,
  },
  {
    name: 'hardhat',
    version: 'hardhat 3.18.0 with Ignition 3.1.8',
    does: 'deploys two contracts of which one takes the address of the other, is told again and does nothing, calls them',
    ...NPM,
  },
  {
    name: 'hardhat2',
    version: 'hardhat 2.29.1 with @openzeppelin/hardhat-upgrades 3.9.1',
    does: 'deploys and upgrades transparent, UUPS and beacon proxies, has the explorer verify and link them, forks the chain',
    ...NPM,
  },
  {
    name: 'safe',
    version: '@safe-global/protocol-kit 8.0.7 with Safe 1.4.1',
    does: 'contracts of Safe at their usual addresses; a Safe of three owners: signatures of each kind, a batch, an owner removed, a message by EIP-1271',
    ...NPM,
  },
  {
    name: 'hyperlane',
    version: '@hyperlane-xyz/cli 44.0.2',
    does: 'deploys its core here and on anvil, relays messages, configures its agents, makes a warp route of COIN and moves coins both ways',
    ...NPM,
  },
  {
    name: 'hermes',
    version: 'hermes 1.10.5 (ibc-relayer-cli)',
    does: 'health-check, which says that the chain has no IBC and nothing else; keys, a balance, a transaction, blocks over a WebSocket',
    needs: ['bash'],
    variable: 'HERMES',
    install: [],
    run: ['bash', 'main.sh'],
  },
]
