/*
 * The floors of the house: a folder imports lower floors only, never a neighbour on its own; type-only imports count.
 * `compose`, `cli.ts` and `config` stand on top.
 */
const floors = [
  ['lib', 'abi'],
  ['protocol'],
  ['chain', 'db', 'jobs', 'identity', 'pricing'],
  ['reads', 'tx', 'indexer'],
  ['api', 'sandbox'],
]

const inside = (folders) => `^src/(${folders.join('|')})/`

const upward = floors.flatMap((floor, height) =>
  floor.map((folder) => ({
    name: `${folder}-imports-lower-floors-only`,
    severity: 'error',
    from: { path: inside([folder]) },
    to: {
      path: '^src/',
      pathNot: [`^src/${folder}/`, ...(height > 0 ? [inside(floors.slice(0, height).flat())] : [])],
    },
  })),
)

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...upward,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'only-compose-takes-config',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(compose/|config/|cli\\.ts$)' },
      to: { path: '^src/config/' },
    },
    {
      name: 'pure-numbers-do-no-io',
      severity: 'error',
      from: { path: '^src/pricing/(kernel|variance|calibrate)' },
      to: { pathNot: '^src/(pricing/(kernel|variance|calibrate)|lib/)' },
    },
    {
      name: 'only-the-engine-reaches-the-key',
      severity: 'error',
      from: { path: '^src/(api/|compose/(api|worker|parts|tools)\\.ts$)' },
      to: { path: '^src/pricing/attest\\.ts$', reachable: true },
    },
    {
      name: 'sandbox-only-for-its-command-and-tests',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(sandbox/|compose/sandbox\\.ts)' },
      to: { path: '^src/sandbox/' },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '^src/cli\\.ts$|\\.d\\.ts$' },
      to: {},
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-development-packages-in-the-service',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^test/|^examples/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
}
