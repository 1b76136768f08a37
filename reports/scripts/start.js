addSorting();
addTableFilters();
addFindingsFilter();
addFolding();
unfoldOnPaper();
followReading();
watchWidths();
