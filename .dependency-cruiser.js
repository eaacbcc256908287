/*
 * Directions of imports; type-only imports count. A folder of `src` imports only folders of lower levels, never a
 * folder of its own level. A subfolder imports only subfolders before it in its list. `compose`, `cli.ts` and `config`
 * are above these levels and may import each other.
 */
const levels = [
  ['lib', 'abi'],
  ['protocol'],
  ['chain', 'db', 'jobs', 'identity', 'pricing'],
  ['reads', 'tx', 'indexer'],
  ['plans', 'webhooks', 'export'],
  ['api', 'sandbox'],
]

/** Subfolders by folder, lowest first; '.' is the folder's own files. */
const subfolders = {
  chain: ['rpc', 'endpoints', 'pool', 'head', '.'],
  db: ['schema', '.', 'changes', 'index', 'queries', 'webhooks', 'carry'],
  // `audit` and the files of the folder use each other.
  'db/index': ['work'],
  reads: [
    'lag',
    'cache',
    'freshness',
    '.',
    'history',
    'entities',
    'lists',
    'portfolio',
    'series',
    'feeds',
    'transactions',
    'health',
  ],
  indexer: ['reading', '.', 'audit'],
  plans: ['steps', 'draft', 'actions', 'rehearsal', 'answer', '.'],
  'api/pages': ['.', 'docs', 'assets'],
  compose: ['.', 'webhooks', 'commands'],
}

const inside = (folders) => `^src/(${folders.join('|')})/`

const upward = levels.flatMap((folders, level) =>
  folders.map((folder) => ({
    name: `${folder}-imports-lower-levels-only`,
    severity: 'error',
    from: { path: inside([folder]) },
    to: {
      path: '^src/',
      pathNot: [`^src/${folder}/`, ...(level > 0 ? [inside(levels.slice(0, level).flat())] : [])],
    },
  })),
)

const pathOf = (folder, subfolder) => `^src/${folder}/${subfolder === '.' ? '[^/]+$' : `${subfolder}/`}`

const betweenSubfolders = Object.entries(subfolders).flatMap(([folder, names]) =>
  names.map((subfolder, position) => ({
    name: `${folder}-${subfolder === '.' ? 'root' : subfolder}-imports-lower-subfolders-only`,
    severity: 'error',
    from: { path: pathOf(folder, subfolder) },
    to: { path: `^src/${folder}/`, pathNot: names.slice(0, position + 1).map((name) => pathOf(folder, name)) },
  })),
)

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...upward,
    ...betweenSubfolders,
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-cycles-of-folders', scope: 'folder', severity: 'error', from: {}, to: { circular: true } },
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
      from: { path: '^src/(api/|compose/(api|worker|parts|commands/tools)\\.ts$)' },
      to: { path: '^src/pricing/quotes/attest\\.ts$', reachable: true },
    },
    {
      name: 'sandbox-only-for-its-command-and-tests',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(sandbox/|compose/commands/sandbox\\.ts)' },
      to: { path: '^src/sandbox/' },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      from: {
        orphan: true,
        path: '^src/',
        pathNot: ['^src/cli\\.ts$', '\\.d\\.ts$', '^src/api/pages/assets/(?:pages|live)\\.js$'],
      },
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
