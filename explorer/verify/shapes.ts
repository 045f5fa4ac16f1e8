import { z } from 'zod'
import { address } from '../api/shapes.ts'

/* Verified contracts as the API shows them. */

const match = z
  .enum(['exact_match', 'match'])
  .nullable()
  .describe(
    'exact_match: bytecode and metadata hash are the same, so the sources are byte for byte the same; match: the bytecode is the same; null: no match',
  )

export const contractSource = z.object({
  address,
  name: z.string(),
  path: z.string().describe('of the source that contains the contract'),
  language: z.enum(['Solidity', 'Yul']),
  compilerVersion: z.string(),
  match: match.describe('the better of the two'),
  runtimeMatch: match.describe('match of the deployed code'),
  creationMatch: match.describe('match of the creation code'),
  verifiedAt: z.iso.datetime(),
  abi: z.array(z.looseObject({ type: z.string() })),
  constructorArguments: z
    .string()
    .nullable()
    .describe('0x…, ABI-encoded; null: no arguments, or the creation code is unknown'),
  libraries: z
    .array(z.object({ name: z.string(), address: z.string() }))
    .describe('linked libraries, by path and name'),
  settings: z.record(z.string(), z.unknown()).describe('of the compiler'),
  sources: z.array(z.object({ path: z.string(), content: z.string() })),
})

export const contractInterface = z
  .object({
    name: z.string().nullable(),
    abi: contractSource.shape.abi.nullable(),
  })
  .describe('null: not verified')

export const compilerList = z.object({
  versions: z.array(z.string()).describe('versions of solc available for verification, newest first'),
})

export type ContractSource = z.infer<typeof contractSource>
