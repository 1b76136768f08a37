addSorting();
addTableFilters();
addFindingsFilter();
addBranches();
addFolding();
unfoldOnPaper();
followReading();
watchWidths();
