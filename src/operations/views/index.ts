import { createMaterializedView } from "./create-materialized-view.js";
import { describeMaterializedView } from "./describe-materialized-view.js";
import { dropMaterializedView } from "./drop-materialized-view.js";
import { listMaterializedViews } from "./list-materialized-views.js";
import { refreshMaterializedView } from "./refresh-materialized-view.js";
import { refreshTable } from "./refresh-table.js";

export const views = [
  createMaterializedView,
  refreshMaterializedView,
  refreshTable,
  describeMaterializedView,
  dropMaterializedView,
  listMaterializedViews,
];
