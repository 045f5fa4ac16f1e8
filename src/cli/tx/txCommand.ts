import type { Option } from 'commander'
import type { Json } from '../../primitives/protoScalars.ts'
import type { NodeClient } from '../nodeClient.ts'
import type { Terminal } from '../ports.ts'

/** A message in the JSON of grpc-gateway, with its `@type`. */
export type MessageJson = { readonly '@type': string } & { readonly [name: string]: Json }

/** What a command makes its messages of. */
export interface TxInput {
  /** who signs, `coin1…` */
  readonly from: string
  /** in the order of `TxCommand.arguments` */
  readonly args: readonly string[]
  /** by attribute name, e.g. `commissionRate` */
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  readonly client: NodeClient
  readonly terminal: Terminal
}

/** One command below `coind tx`: a row of a module's table. */
export interface TxCommand {
  readonly group: string
  readonly name: string
  readonly description: string
  /** commander's notation, `<needed>` or `[optional]` or `<several...>`, with what it is */
  readonly arguments: readonly (readonly [name: string, description: string])[]
  readonly options?: readonly Option[]
  /** @throws ConfigError for input that makes no message */
  build(input: TxInput): readonly MessageJson[] | Promise<readonly MessageJson[]>
}
